module plumbago/tests/whisper/go

go 1.20

require github.com/go-graphite/go-whisper v0.0.0-20230526115116-e3110f57c01c
