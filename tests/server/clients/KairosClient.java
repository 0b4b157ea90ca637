import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import com.google.gson.Gson;
import org.kairosdb.client.HttpClient;
import org.kairosdb.client.TelnetClient;
import org.kairosdb.client.builder.Aggregator;
import org.kairosdb.client.builder.AggregatorFactory;
import org.kairosdb.client.builder.AggregatorFactory.FilterOperation;
import org.kairosdb.client.builder.AggregatorFactory.Trim;
import org.kairosdb.client.builder.DataPoint;
import org.kairosdb.client.builder.Grouper;
import org.kairosdb.client.builder.MetricBuilder;
import org.kairosdb.client.builder.QueryBuilder;
import org.kairosdb.client.builder.QueryMetric;
import org.kairosdb.client.builder.QueryTagBuilder;
import org.kairosdb.client.builder.RelativeTime;
import org.kairosdb.client.builder.TimeUnit;
import org.kairosdb.client.builder.grouper.BinGrouper;
import org.kairosdb.client.builder.grouper.TagGrouper;
import org.kairosdb.client.builder.grouper.TimeGrouper;
import org.kairosdb.client.builder.grouper.ValueGrouper;
import org.kairosdb.client.response.QueryResult;
import org.kairosdb.client.response.Result;

/**
 * KairosDB's own client for Java, as it was published, against a server.
 *
 *     java --add-opens java.base/java.util=ALL-UNNAMED --add-opens java.base/sun.util.calendar=ALL-UNNAMED \
 *         -cp 'JARS/*' KairosClient.java URL TELNET_PORT SECONDS
 *
 * What it reads is printed as JSON; a mistake ends the program.
 */
public final class KairosClient {
    private static long start;

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        int telnet = Integer.parseInt(arguments[1]);
        start = Long.parseLong(arguments[2]) * 1000;
        Map<String, Object> found = new TreeMap<>();
        try (HttpClient client = new HttpClient(url)) {
            found.put("version", client.getVersion());
            found.put("status", client.getStatus());
            found.put("check", client.getStatusCheck());
            write(client, telnet);
            found.put("metrics", waitFor(client, 3));
            found.put("aggregators", aggregated(client));
            found.put("groups", grouped(client));
            found.put("limited", limited(client));
            found.put("tags", tags(client));
            found.put("mistake", mistake(client));
            found.put("deleted", deleted(client));
        }
        System.out.println(new Gson().toJson(found));
    }

    /** Plain and packed, with longs, doubles and a time to live, and the lines of telnet. */
    private static void write(HttpClient client, int telnet) throws Exception {
        MetricBuilder plain = MetricBuilder.getInstance();
        for (int host = 1; host <= 2; host++) {
            var metric = plain.addMetric("java.http").addTag("host", "web" + host).addTag("dc", "ams").addTtl(86400);
            for (int n = 0; n < 60; n++) {
                metric.addDataPoint(start + n * 1000L, (long) (n * host));
            }
        }
        client.pushMetrics(plain);
        MetricBuilder packed = MetricBuilder.getInstance();
        packed.setCompression(true);
        packed.addMetric("java.gzip").addTag("host", "web1").addDataPoint(start, 1.5).addDataPoint(start + 1000, 7L);
        client.pushMetrics(packed);
        MetricBuilder lines = MetricBuilder.getInstance();
        lines.addMetric("java.telnet").addTag("host", "web1").addDataPoint(start, 3L).addDataPoint(start + 1000, 4.5);
        TelnetClient connection = new TelnetClient("127.0.0.1", telnet);
        connection.putMetrics(lines);
        connection.shutdown();
    }

    /** Lines are not answered. */
    private static List<String> waitFor(HttpClient client, int metrics) throws Exception {
        while (client.getMetricNames().size() < metrics) {
            Thread.sleep(20);
        }
        return client.getMetricNames();
    }

    private static QueryMetric metric(QueryBuilder query) {
        return query.setStart(new java.util.Date(start)).setEnd(new java.util.Date(start + 59_000)).addMetric("java.http");
    }

    private static List<Object> values(Result result) {
        List<Object> values = new ArrayList<>();
        for (DataPoint point : result.getDataPoints()) {
            values.add(List.of((point.getTimestamp() - start) / 1000, point.getValue() == null ? "null" : point.getValue()));
        }
        return values;
    }

    /** Each aggregator of the client's factory, over the points of one host in halves of a minute. */
    private static Map<String, Object> aggregated(HttpClient client) {
        Map<String, Aggregator> all = new TreeMap<>();
        all.put("avg", AggregatorFactory.createAverageAggregator(30, TimeUnit.SECONDS).withStartTimeAlignment());
        all.put("min", AggregatorFactory.createMinAggregator(30, TimeUnit.SECONDS).withSamplingAlignment());
        all.put("max", AggregatorFactory.createMaxAggregator(30, TimeUnit.SECONDS).withEndTimeAlignment());
        all.put("sum", AggregatorFactory.createSumAggregator(30, TimeUnit.SECONDS));
        all.put("count", AggregatorFactory.createCountAggregator(30, TimeUnit.SECONDS));
        all.put("dev", AggregatorFactory.createStandardDeviationAggregator(30, TimeUnit.SECONDS));
        all.put("first", AggregatorFactory.createFirstAggregator(30, TimeUnit.SECONDS));
        all.put("last", AggregatorFactory.createLastAggregator(30, TimeUnit.SECONDS));
        all.put("gaps", AggregatorFactory.createDataGapsMarkingAggregator(30, TimeUnit.SECONDS));
        all.put("least_squares", AggregatorFactory.createLeastSquaresAggregator(30, TimeUnit.SECONDS));
        all.put("percentile", AggregatorFactory.createPercentileAggregator(0.5, 30, TimeUnit.SECONDS));
        all.put("rate", AggregatorFactory.createRateAggregator(TimeUnit.SECONDS));
        all.put("sampler", AggregatorFactory.createSamplerAggregator());
        all.put("diff", AggregatorFactory.createDiffAggregator());
        all.put("div", AggregatorFactory.createDivAggregator(2));
        all.put("scale", AggregatorFactory.createScaleAggregator(10));
        all.put("sma", AggregatorFactory.createSimpleMovingAverage(3));
        all.put("trim", AggregatorFactory.createTrimAggregator(Trim.BOTH));
        all.put("filter", AggregatorFactory.createFilterAggregator(FilterOperation.LT, 58));
        all.put("save_as", AggregatorFactory.createSaveAsAggregator("java.saved"));
        all.put("custom", AggregatorFactory.createCustomAggregator("data_gaps", "\"sampling\":{\"value\":30,\"unit\":\"seconds\"}"));
        Map<String, Object> found = new TreeMap<>();
        for (var one : all.entrySet()) {
            QueryBuilder query = QueryBuilder.getInstance();
            metric(query).addTag("host", "web1").addAggregator(one.getValue());
            List<Object> values = values(client.query(query).getQueries().get(0).getResults().get(0));
            found.put(one.getKey(), values.size() > 4 ? List.of(values.size(), values.get(0), values.get(1)) : values);
        }
        return found;
    }

    private static Map<String, Object> grouped(HttpClient client) {
        Map<String, Grouper> all = new TreeMap<>();
        all.put("tag", new TagGrouper("host", "dc"));
        all.put("time", new TimeGrouper(new RelativeTime(30, TimeUnit.SECONDS), 2));
        all.put("value", new ValueGrouper(60));
        all.put("bin", new BinGrouper(10.0, 100.0));
        Map<String, Object> found = new TreeMap<>();
        for (var one : all.entrySet()) {
            QueryBuilder query = QueryBuilder.getInstance().setTimeZone(java.util.TimeZone.getTimeZone("Europe/Berlin"));
            metric(query).addGrouper(one.getValue());
            List<Object> groups = new ArrayList<>();
            QueryResult answer = client.query(query).getQueries().get(0);
            for (Result result : answer.getResults()) {
                groups.add(List.of(result.getGroupResults().get(1).getName(), result.getDataPoints().size()));
            }
            found.put(one.getKey(), List.of(answer.getSampleSize(), groups));
        }
        return found;
    }

    /** A limit, the newest first, a relative start, no tags in the answer. */
    private static Object limited(HttpClient client) {
        QueryBuilder query = QueryBuilder.getInstance().setStart(1, TimeUnit.HOURS).setCacheTime(10);
        QueryMetric metric = query.addMetric("java.http").addTag("host", "web2", "web9");
        metric.setLimit(2);
        metric.setOrder(QueryMetric.Order.DESCENDING);
        metric.setExcludeTags(true);
        return values(client.query(query).getQueries().get(0).getResults().get(0));
    }

    private static Object tags(HttpClient client) {
        QueryTagBuilder query = QueryTagBuilder.getInstance().setStart(1, TimeUnit.HOURS);
        query.addMetric("java.http").addTag("host", "web1", "web2");
        return new TreeMap<>(client.queryTags(query).getQueries().get(0).getResults().get(0).getTags());
    }

    /** What is no aggregator. */
    private static String mistake(HttpClient client) {
        QueryBuilder query = QueryBuilder.getInstance();
        metric(query).addAggregator(AggregatorFactory.createCustomAggregator("bogus", "\"a\":1"));
        try {
            client.query(query);
            return "none";
        } catch (RuntimeException refused) {
            return refused.getMessage();
        }
    }

    private static Object deleted(HttpClient client) throws Exception {
        QueryBuilder query = QueryBuilder.getInstance();
        metric(query).addTag("host", "web1");
        client.delete(query);
        client.deleteMetric("java.gzip");
        client.deleteMetric("java.never");
        QueryBuilder left = QueryBuilder.getInstance();
        metric(left);
        return List.of(client.query(left).getQueries().get(0).getSampleSize(), client.getMetricNames());
    }
}
