import {parseArgs} from 'node:util'
import {measureAuth} from './auth.ts'
import {measureAutoMap} from './auto-map.ts'
import {measureEngineParts} from './engine-parts.ts'
import {measureExpressions} from './expressions.ts'
import {measureImportSpeed} from './import-speed.ts'
import {measureLogDepth} from './log-depth.ts'
import {measureMemory} from './memory.ts'
import {measureResultsSpeed} from './results-speed.ts'
import {measureSlotUse} from './slot-use.ts'

/**
 * `npm run bench [-- --json] [--only name,name]`: ratios, each against its own baseline in the same run. Absolute figures are this
 * machine's alone. What is measured together is told together.
 */
const MEASURES: {measure(): Promise<Record<string, number>>; about: Record<string, string>}[] = [
  {
    measure: measureAuth,
    about: {
      authOverBareKoa: 'authenticated, validated route ÷ the same route on bare Koa (req/s)',
      authOverSameAppWithout: 'the same ÷ the same route in our app without a bearer (req/s)',
      authRequestsPerSecond: 'its requests per second here, one process, 32 connections',
    },
  },
  {
    measure: measureExpressions,
    about: {
      expressionsOverBareSandbox: '10 expressions a row through the sandbox ÷ the bare engine on this thread (rows/s)',
      expressionRowsPerSecond: 'its rows per second here, batches of 500, one thread',
    },
  },
  {
    measure: measureAutoMap,
    about: {
      autoMapOverLevenshtein: 'a proposal for 60 columns among 120 fields ÷ plain Levenshtein of every pair (time)',
      autoMapMilliseconds: 'its milliseconds here, one thread',
    },
  },
  {
    measure: measureSlotUse,
    about: {slotUse: 'time in flight at the stand-in ÷ (10 slots × wall), 400 ms a call, first full batch to the last of 300'},
  },
  {
    measure: measureImportSpeed,
    about: {
      importVsBareLoop: 'an import of 50,000 rows ÷ a bare loop of ready-made calls, 5 at a time, to the same stand-in (rows/s)',
      importRowsPerSecond: 'its rows per second here',
      importStandInShare: 'of one core: what the stand-in takes meanwhile',
    },
  },
  {
    measure: measureEngineParts,
    about: {
      engineVsParts: 'parse + evaluate + post + write down, each alone ÷ the engine, CRM doing nothing, 10 expressions (s)',
      engineSeconds: 'its seconds for 50,000 rows here',
      partParseSeconds: 'csv-parse alone',
      partEvaluateSeconds: 'the sandbox alone, 500 rows a crossing',
      partPostSeconds: 'ready-made calls of 100 alone, 10 at a time',
      partWriteSeconds: "each batch's intent and end in Postgres alone, one after another",
    },
  },
  {
    measure: measureMemory,
    about: {
      peakMemoryMb100k: "an imports worker's VmHWM over 100,000 rows, sandbox included (MiB)",
      peakMemoryMb1m: 'the same over 1,000,000 rows',
      memory1mVs100k: 'the second ÷ the first',
      scale1m: 'the last tenth of the 1,000,000 rows ÷ the second (rows/s, each the median of its ten pieces)',
      scale1mPlain: 'the same by the clock alone',
      rowsPerSecond1m: 'rows per second over all of them here',
    },
  },
  {
    measure: measureLogDepth,
    about: {
      logDepthRatio: 'log page of 1,000 at the end of 1,000,000 entries ÷ the first page (time), in Postgres',
      movedLogDepthRatio: 'the same once the records are in storage',
      movedLogAcrossRatio: 'a page there that lies in two objects ÷ the first page',
    },
  },
  {
    measure: measureResultsSpeed,
    about: {
      resultsVsParser: 'results.csv of 250,000 rows ÷ the bare CSV parser over the same file (MB/s), log in Postgres',
      movedResultsVsParser: 'the same once the records are in storage',
    },
  },
]

const {json, only} = parseArgs({options: {json: {type: 'boolean', default: false}, only: {type: 'string'}}}).values
const names = MEASURES.flatMap(({about}) => Object.keys(about))
const wanted = only?.split(',') ?? names
const unknown = wanted.filter(name => !names.includes(name))
if (unknown.length) throw new Error(`No figure is called ${unknown.join(', ')}: there are ${names.join(', ')}`)

const figures: Record<string, number> = {}
const about: Record<string, string> = {}
for (const measured of MEASURES) {
  if (!Object.keys(measured.about).some(name => wanted.includes(name))) continue
  const found = await measured.measure()
  Object.assign(figures, found)
  Object.assign(about, measured.about)
  if (!json)
    for (const [name, value] of Object.entries(found)) console.log(`${value.toFixed(2).padStart(10)}  ${name}: ${measured.about[name]}`)
}
if (json) console.log(JSON.stringify({...figures, about}))
