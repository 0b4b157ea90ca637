// How different two colours are for eyes of all kinds: colour blindness as Machado, Oliveira and Fernandes (2009) simulate it in full
// strength, and the distance in Oklab, times 100.

const EYES = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protan: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deutan: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritan: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

const product = (matrix, vector) =>
  [0, 3, 6].map((row) => vector.reduce((sum, value, at) => sum + matrix[row + at] * value, 0));

function oklab(rgb) {
  const cones = product(
    [0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619, 0.2817188376, 0.6299787005],
    rgb,
  );
  return product(
    [0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099, 0.0259040371, 0.7827717662, -0.808675766],
    cones.map(Math.cbrt),
  );
}

/** The distance of two colours, each red, green and blue from 0 to 255, for the eyes to which they are most alike. */
export function worst(a, b) {
  const seen = (colour, eyes) => {
    const light = product(eyes, colour.map((part) => linear(part / 255)));
    return oklab(light.map((part) => Math.min(1, Math.max(0, part))));
  };
  const distances = Object.values(EYES).map((eyes) => {
    const [p, q] = [seen(a, eyes), seen(b, eyes)];
    return 100 * Math.hypot(...p.map((part, at) => part - q[at]));
  });
  return Math.min(...distances);
}
