// The real go-whisper, for the tests: a request as JSON on each line of stdin, an answer on each line of stdout.
//
// Values are the bits of a double as an integer, so that no digit is lost on the way. null is no point.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	whisper "github.com/go-graphite/go-whisper"
)

type request struct {
	Do             string
	Path           string
	To             string
	Archives       [][2]int
	Method         string
	Mix            []string
	Factor         float32
	Compressed     bool
	PointsPerBlock int
	Points         [][2]uint64
	Now            int64
	Start          int
	End            int
}

type series struct {
	First  int       `json:"first"`
	Last   int       `json:"last"`
	Step   int       `json:"step"`
	Values []*uint64 `json:"values"`
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		reply := map[string]any{}
		if err := json.Unmarshal(line, &asked); err != nil {
			reply["error"] = err.Error()
		} else if answer, err := do(&asked); err != nil {
			reply["error"] = err.Error()
		} else {
			reply["answer"] = answer
		}
		if err := out.Encode(reply); err != nil {
			panic(err)
		}
	}
}

func do(asked *request) (answer any, err error) {
	if asked.Now != 0 {
		whisper.Now = func() time.Time { return time.Unix(asked.Now, 0) }
	}
	if asked.Do == "create" {
		return nil, create(asked)
	}
	// The library panics on some damage.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	file, err := whisper.Open(asked.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	switch asked.Do {
	case "update":
		return nil, file.UpdateMany(points(asked.Points))
	case "fetch":
		return fetch(file, asked)
	case "check":
		return nil, file.CheckIntegrity()
	case "compress":
		return nil, file.CompressTo(asked.To)
	case "is_compressed":
		return file.IsCompressed(), nil
	}
	return nil, fmt.Errorf("unknown request %q", asked.Do)
}

func create(asked *request) error {
	var retentions whisper.Retentions
	for _, archive := range asked.Archives {
		retention := whisper.NewRetention(archive[0], archive[1])
		retentions = append(retentions, &retention)
	}
	options := whisper.Options{Compressed: asked.Compressed, PointsPerBlock: asked.PointsPerBlock}
	for _, name := range asked.Mix {
		options.MixAggregationSpecs = append(options.MixAggregationSpecs, spec(name))
	}
	method := whisper.ParseAggregationMethod(asked.Method)
	file, err := whisper.CreateWithOptions(asked.Path, retentions, method, asked.Factor, &options)
	if err != nil {
		return err
	}
	return file.Close()
}

// spec reads a method of a mix, such as "average" or "p95".
func spec(name string) whisper.MixAggregationSpec {
	if digits, ok := strings.CutPrefix(name, "p"); ok {
		if percentile, err := strconv.ParseFloat(digits, 32); err == nil {
			return whisper.MixAggregationSpec{Method: whisper.Percentile, Percentile: float32(percentile)}
		}
	}
	return whisper.MixAggregationSpec{Method: whisper.ParseAggregationMethod(name)}
}

func points(given [][2]uint64) []*whisper.TimeSeriesPoint {
	var points []*whisper.TimeSeriesPoint
	for _, point := range given {
		value := math.Float64frombits(point[1])
		points = append(points, &whisper.TimeSeriesPoint{Time: int(point[0]), Value: value})
	}
	return points
}

func fetch(file *whisper.Whisper, asked *request) (any, error) {
	var wanted *whisper.MixAggregationSpec
	if asked.Method != "" {
		found := spec(asked.Method)
		wanted = &found
	}
	found, err := file.FetchByAggregation(asked.Start, asked.End, wanted)
	if err != nil || found == nil {
		return nil, err
	}
	answer := series{First: found.FromTime(), Last: found.UntilTime(), Step: found.Step(), Values: []*uint64{}}
	for _, value := range found.Values() {
		var bits *uint64
		if !math.IsNaN(value) {
			whole := math.Float64bits(value)
			bits = &whole
		}
		answer.Values = append(answer.Values, bits)
	}
	return answer, nil
}
