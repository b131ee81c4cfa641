import {measureAuth} from './auth.ts'
import {measureAutoMap} from './auto-map.ts'
import {measureBulkCreate} from './bulk-create.ts'
import {measureEngineParts} from './engine-parts.ts'
import {measureExpressions} from './expressions.ts'
import {measureImportSpeed} from './import-speed.ts'
import {measureImportWorkers} from './import-workers.ts'
import {measureLogDepth} from './log-depth.ts'
import {measureMatchedImport} from './matched-import.ts'
import {measureMemory} from './memory.ts'
import {measureParallelRuns} from './parallel-runs.ts'
import {measureQueue} from './queue.ts'
import {measureReimport} from './reimport.ts'
import {measureResultsSpeed} from './results-speed.ts'
import {measureRowCost} from './row-cost.ts'
import {measureRunCost} from './run-cost.ts'
import {measureSlotUse} from './slot-use.ts'
import {measureSmallRuns} from './small-runs.ts'
import {measureSnapshotMemory} from './snapshot-memory.ts'
import {measureUndo} from './undo.ts'
import {measureUploadMemory} from './upload-memory.ts'
import {measureVerifyCost} from './verify-cost.ts'

/** A measured ratio. `about` says what is divided by what. `atLeast` and `atMost` are its limits, if any. */
export type Figure = {about: string; atLeast?: number; atMost?: number}
/** Figures that are measured and printed together. */
export type Measure = {subject: string; measure(options: MeasureOptions): Promise<Record<string, number>>; figures: Record<string, Figure>}
/** `rows`: replaces the usual number of rows. Figures that name their number of rows ignore this option. */
export type MeasureOptions = {rows?: number}

const requests: Measure = {
  subject: 'Requests',
  measure: measureAuth,
  figures: {
    authOverBareKoa: {about: 'authenticated, validated route ÷ the same route on bare Koa (req/s)', atLeast: 0.3},
    authOverSameAppWithout: {about: 'the same ÷ the same route in our app without a bearer (req/s)'},
    authRequestsPerSecond: {about: 'its requests per second, one process, 32 connections'},
  },
}

const parallelRuns: Measure = {
  subject: 'Requests while 50 runs are under way ÷ while none is',
  measure: measureParallelRuns,
  figures: {
    progressUnder50Runs: {about: 'progress of a run, ten connections (req/s)'},
    progressP99Under50Runs: {about: 'the same (99th percentile of the time)'},
    progressP99Milliseconds: {about: 'its milliseconds under 50 runs'},
    authoriseUnder50Runs: {about: 'authorising a run, ten connections, one org (req/s)'},
    authoriseP99Under50Runs: {about: 'the same (99th percentile of the time)'},
    authoriseP99Milliseconds: {about: 'its milliseconds under 50 runs'},
  },
}

const queue: Measure = {
  subject: 'Queue',
  measure: measureQueue,
  figures: {
    enqueueToStartP50OverNotify: {about: "a job's commit to its handler in a worker process ÷ a bare NOTIFY's to a bare listener (median)"},
    enqueueToStartP99OverNotify: {about: 'the same (99th percentile)'},
    enqueueToStartP50Milliseconds: {about: 'its milliseconds (median)'},
    enqueueToStartP99Milliseconds: {about: 'its milliseconds (99th percentile)'},
    jobsOverBarePgBoss: {about: 'a backlog through our queue and worker ÷ through bare pg-boss, set as ours is (jobs/s)'},
    jobsPerSecond: {about: 'its jobs per second, four slots'},
  },
}

const expressions: Measure = {
  subject: 'Expressions and mappings',
  measure: measureExpressions,
  figures: {
    expressionsOverBareSandbox: {about: '10 expressions a row through the sandbox ÷ the bare engine on this thread (rows/s)', atLeast: 0.6},
    expressionRowsPerSecond: {about: 'its rows per second, batches of 500, one thread'},
  },
}

const autoMap: Measure = {
  subject: 'Expressions and mappings',
  measure: measureAutoMap,
  figures: {
    autoMapOverLevenshtein: {about: 'a proposal for 60 columns among 120 fields ÷ plain Levenshtein of every pair (time)'},
    autoMapMilliseconds: {about: 'its milliseconds, one thread'},
  },
}

const slotUse: Measure = {
  subject: 'One run',
  measure: measureSlotUse,
  figures: {
    slotUse: {
      about: 'time in flight at the stand-in ÷ (10 slots × wall), 400 ms a call, first full batch to the last of 300',
      atLeast: 0.97,
    },
  },
}

const reimport: Measure = {
  subject: '20,000 matched rows again, all unchanged: skipped ÷ updated',
  measure: measureReimport,
  figures: {
    reimportUnchangedCredits: {about: 'CRM credits', atMost: 0.2},
    reimportUnchangedTime: {about: 'seconds, at 400 ms a call', atMost: 0.4},
  },
}

const undo: Measure = {
  subject: 'Undo, at 400 ms a call',
  measure: measureUndo,
  figures: {
    undoImagesCost: {about: 'updating 20,000 records with before images ÷ without (s)', atMost: 1.1},
    undoSlots: {
      about: 'undoing 100,000 updates: time in flight at the stand-in ÷ (10 slots × wall), from the first restore to the last',
      atLeast: 0.95,
    },
  },
}

const verifyCost: Measure = {
  subject: '100,000 updates at 400 ms a call, every written row read back',
  measure: measureVerifyCost,
  figures: {
    verifyCostCredits: {about: 'credits with every row read back ÷ without', atMost: 1.12},
    verifyCostTime: {about: 'seconds with every row read back ÷ without', atMost: 1.12},
  },
}

const matchedImport: Measure = {
  subject:
    '200,000 matched rows (or `--rows`) of which every fifth changes, at 400 ms a call: an export, unchanged rows skipped ÷ every row written',
  measure: measureMatchedImport,
  figures: {
    matchedImportCredits: {about: 'CRM credits, ÷ with queries of 50 values', atMost: 0.4},
    matchedImportTime: {about: 'seconds, likewise; jobs of the CRM take 60 s + 1 ms a row at 1,000,000 rows', atMost: 0.45},
    matchedImportCreditsOverLists: {about: 'CRM credits, ÷ with queries of ten lists of 50 values'},
    matchedImportTimeOverLists: {about: 'seconds, likewise'},
    matchedImportSeconds: {about: 'its seconds'},
  },
}

const bulkCreate: Measure = {
  subject: '200,000 creates (or `--rows`) with an idempotency field: bulk jobs ÷ record calls',
  measure: measureBulkCreate,
  figures: {bulkCreateCredits: {about: 'CRM credits', atMost: 0.55}},
}

const snapshotMemory: Measure = {
  subject: 'A run that matches against an export of 5,000,000 records (or `--rows`)',
  measure: measureSnapshotMemory,
  figures: {
    snapshotMemoryMb: {about: "the imports worker's VmHWM, sandbox included (MiB)", atMost: 256},
    snapshotMemorySeconds: {about: 'its seconds'},
  },
}

const importSpeed: Measure = {
  subject: 'One run',
  measure: measureImportSpeed,
  figures: {
    importVsBareLoop: {
      about: 'an import of 50,000 rows ÷ a bare loop of ready-made calls, 5 at a time, to the same stand-in (rows/s)',
      atLeast: 0.5,
    },
    importRowsPerSecond: {about: 'its rows per second'},
    importStandInShare: {about: 'of one core: what the stand-in takes meanwhile'},
  },
}

const engineParts: Measure = {
  subject: 'One run',
  measure: measureEngineParts,
  figures: {
    engineVsParts: {
      about: 'parse + evaluate + post + write down, each alone ÷ the engine, CRM doing nothing, 10 expressions (s)',
      atLeast: 0.6,
    },
    engineSeconds: {about: 'its seconds for 50,000 rows'},
    partParseSeconds: {about: 'csv-parse alone'},
    partEvaluateSeconds: {about: 'the sandbox alone, 500 rows a crossing'},
    partPostSeconds: {about: 'ready-made calls of 100 alone, 10 at a time'},
    partWriteSeconds: {about: "each batch's intent and end in Postgres alone, one after another"},
  },
}

const memory: Measure = {
  subject: 'A run of 1,000,000 rows',
  measure: measureMemory,
  figures: {
    peakMemoryMb100k: {about: "an imports worker's VmHWM over 100,000 rows, sandbox included (MiB)"},
    peakMemoryMb1m: {about: 'the same over 1,000,000 rows', atMost: 256},
    memory1mVs100k: {about: 'the second ÷ the first', atMost: 1.1},
    scale1m: {about: 'the last tenth of the 1,000,000 rows ÷ the second (rows/s, each the median of its ten pieces)', atLeast: 0.9},
    scale1mPlain: {about: 'the same by the clock alone'},
    rowsPerSecond1m: {about: 'rows per second over all of them'},
  },
}

const uploadMemory: Measure = {
  subject: 'Uploads',
  measure: measureUploadMemory,
  figures: {
    uploadMemoryMb1m: {about: "the API's VmHWM over the upload of a CSV file of 1,000,000 rows, 123 MB (MiB)", atMost: 288},
    uploadMemoryMbWide: {about: 'the same over one of 400 rows with 16,384 columns, 32 MB', atMost: 370},
  },
}

const importWorkers: Measure = {
  subject: 'Runs beside each other',
  measure: measureImportWorkers,
  figures: {
    fourWorkersOverOne: {
      about: 'four imports processes, a run each in four orgs ÷ one with one run; 3 slots an org, 200 ms a call (rows/s)',
      atLeast: 3.6,
    },
    fourRunsInOneWorkerOverOne: {about: 'one process that carries all four runs ÷ the same one with one run (rows/s)'},
    fourWorkersRowsPerSecond: {about: 'rows per second of the four processes'},
  },
}

const smallRuns: Measure = {
  subject: 'Runs beside each other',
  measure: measureSmallRuns,
  figures: {
    smallRunsBesideLarge: {
      about: '200 runs of 50 rows, one every 80 ms, beside one of 1,000,000 rows ÷ without it (p95 of the time to finish)',
      atMost: 1.5,
    },
    smallRunP95Seconds: {about: 'its seconds without'},
    smallRunP95SecondsBesideLarge: {about: 'its seconds beside'},
  },
}

const logDepth: Measure = {
  subject: 'Logs and results',
  measure: measureLogDepth,
  figures: {
    logDepthRatio: {about: 'log page of 1,000 at the end of 1,000,000 entries ÷ the first page (time), in Postgres', atMost: 1.3},
    movedLogDepthRatio: {about: 'the same once the records are in storage', atMost: 1.3},
    movedLogAcrossRatio: {about: 'a page there that lies in two objects ÷ the first page', atMost: 1.3},
  },
}

const resultsSpeed: Measure = {
  subject: 'Logs and results',
  measure: measureResultsSpeed,
  figures: {
    resultsVsParser: {about: 'results.csv of 250,000 rows ÷ the bare CSV parser over the same file (MB/s), log in Postgres', atLeast: 0.25},
    movedResultsVsParser: {about: 'the same once the records are in storage', atLeast: 0.25},
  },
}

const rowCost: Measure = {
  subject: 'What a row costs',
  measure: measureRowCost,
  figures: {
    rowFileBytes: {about: 'bytes of a row of 12 columns in its file'},
    rowPostgresBytes: {about: 'bytes in Postgres until its run is in storage'},
    rowWalBytes: {about: 'bytes of write-ahead log'},
    rowStorageBytes: {about: 'bytes in storage'},
    importsSecondsPerMillion: {about: 'processor seconds of imports for 1,000,000 rows of 10 expressions'},
    postgresSecondsPerMillion: {about: 'the same of Postgres'},
    apiSecondsPerMillion: {about: 'the same of the API'},
    archiveSecondsPerMillion: {about: 'the same of archive'},
    postgresOverImports: {about: 'Postgres ÷ imports (processor time)'},
  },
}

const runCost: Measure = {
  subject: 'What a run of 50 rows costs',
  measure: measureRunCost,
  figures: {
    runImportsMilliseconds: {about: 'processor milliseconds of imports'},
    runPostgresMilliseconds: {about: 'the same of Postgres'},
    runApiMilliseconds: {about: 'the same of the API'},
    runWalKilobytes: {about: 'kB of write-ahead log'},
  },
}

export const MEASURES: Measure[] = [
  requests,
  parallelRuns,
  queue,
  expressions,
  autoMap,
  slotUse,
  reimport,
  matchedImport,
  bulkCreate,
  snapshotMemory,
  undo,
  verifyCost,
  importSpeed,
  engineParts,
  memory,
  uploadMemory,
  importWorkers,
  smallRuns,
  logDepth,
  resultsSpeed,
  rowCost,
  runCost,
]
