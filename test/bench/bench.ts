import {readOptions} from '../stack/usage.ts'
import {type Figure, MEASURES} from './figures.ts'
import {isMissed, limitOf, linesOf} from './page.ts'

/**
 * The options of `npm run bench [-- --json] [--only name,name] [--rows N]`. It measures ratios, each against a baseline of the same run, and
 * prints them with their limits. `--rows` is for figures that take another number of rows. Absolute figures are valid for this machine only. A
 * missed limit is only printed; a measure that throws makes the exit code 1.
 */
const {json, only, rows} = readOptions('npm run bench -- [--only FIGURE,FIGURE] [--rows N] [--json]', {
  json: {type: 'boolean', default: false},
  only: {type: 'string'},
  rows: {type: 'string'},
})
if (rows !== undefined && !/^[1-9]\d*0000$/.test(rows)) throw new Error('--rows is a multiple of 10,000')
const all: Record<string, Figure> = Object.assign({}, ...MEASURES.map(({figures}) => figures))
const wanted = only?.split(',') ?? Object.keys(all)
const unknown = wanted.filter(name => !(name in all))
if (unknown.length) throw new Error(`No figure is called ${unknown.join(', ')}: there are ${Object.keys(all).join(', ')}`)

const measures = MEASURES.filter(({figures}) => Object.keys(figures).some(name => wanted.includes(name)))
const nameWidth = Math.max(...measures.flatMap(({figures}) => Object.keys(figures).map(({length}) => length)))
const since = performance.now()
const values: Record<string, number> = {}
const failed: Record<string, string> = {}
let subject: string | null = null
if (rows && !json)
  console.log(`With --rows ${rows}: measures that accept it use ${Number(rows).toLocaleString('en')} rows instead of their own number.`)
for (const measured of measures) {
  const names = Object.keys(measured.figures)
  try {
    const found = await measured.measure(rows === undefined ? {} : {rows: Number(rows)})
    Object.assign(values, found)
    if (!json) for (const line of linesOf(measured, found, subject, nameWidth)) console.log(line)
    subject = measured.subject
  } catch (error) {
    console.error(`${names.join(', ')}:`, error)
    failed[names[0]!] = error instanceof Error ? error.message : String(error)
  }
}

const limited = Object.keys(values).filter(name => limitOf(all[name]!) !== null)
const missed = limited.filter(name => isMissed(all[name]!, values[name]!))
if (json) {
  const about = Object.fromEntries(Object.keys(values).map(name => [name, all[name]!.about]))
  const limits = Object.fromEntries(limited.map(name => [name, limitOf(all[name]!)]))
  console.log(JSON.stringify({...values, about, limits, missed, failed}))
} else {
  const kept = `${limited.length - missed.length} of ${limited.length} limits are kept${missed.length ? `; missed: ${missed.join(', ')}` : ''}`
  console.log(`\n${kept}. ${Math.round((performance.now() - since) / 1000)} s`)
}
if (Object.keys(failed).length) process.exitCode = 1
