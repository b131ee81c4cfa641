import {createHash} from 'node:crypto'
import {readdirSync, readFileSync} from 'node:fs'
import test from 'ava'
import fc from 'fast-check'
import {HELPERS} from '../../../shared/expressions/names.ts'
import {type ExpressionOutcome, openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'
import {tables} from './helpers-table.ts'

let sandbox: Sandbox
test.before(() => {
  // These tests compare values. With the usual time limit of a row, a busy machine would fail them.
  sandbox = openSandbox({rowMilliseconds: 10_000})
})
test.after.always(() => sandbox.close())

for (const [name, rows] of Object.entries(tables))
  test(`helpers on ${name} return the values of the table`, async t => {
    const expressions = Object.fromEntries(rows.map(([expression]) => [expression, `helpers.${expression}`]))
    const [outcomes] = await sandbox.evaluate({expressions, rows: [{}], clock: 0, seed: ''})
    for (const [expression, expected] of rows) {
      const outcome = outcomes![expression]!
      if (expected instanceof RegExp) t.regex('error' in outcome ? outcome.error.message : JSON.stringify(outcome), expected, expression)
      else t.deepEqual(outcome, {value: expected}, expression)
      if (expected instanceof RegExp) t.true('error' in outcome, expression)
    }
  })

test('the list of helpers equals the exports of their sources', t => {
  const folder = new URL('../../../shared/expressions/inside/helpers/', import.meta.url)
  const shared = ['as-text.js', 'calendar.js', 'date-tokens.js', 'date-tokens.d.ts']
  const sources = readdirSync(folder).filter(file => !shared.includes(file))
  const exported = sources.flatMap(file =>
    [...readFileSync(new URL(file, folder), 'utf8').matchAll(/^export const (\w+)/gm)].map(([, name]) => name!),
  )
  t.deepEqual(exported.toSorted(), HELPERS.toSorted())
})

test('every helper has a line that shows its call', t => {
  const folder = new URL('../../../shared/expressions/inside/helpers/', import.meta.url)
  const text = readdirSync(folder)
    .map(file => readFileSync(new URL(file, folder), 'utf8'))
    .join('\n')
  for (const name of HELPERS) t.regex(text, new RegExp(`\\* \`${name}\\(`), name)
})

const evaluateAll = async (rows: Record<string, unknown>[], expressions: Record<string, string>) =>
  sandbox.evaluate({expressions, rows, clock: 0, seed: ''})

test('any text has the same hash as in Node', async t => {
  const texts = fc.sample(fc.string({unit: 'binary', maxLength: 200}), 200)
  const outcomes = await evaluateAll(
    texts.map(text => ({text})),
    {hash: 'helpers.hash(row.text)'},
  )
  for (const [at, text] of texts.entries())
    t.deepEqual(outcomes[at]!.hash, {value: createHash('sha256').update(text.toWellFormed()).digest('hex')}, JSON.stringify(text))
})

test('any day survives formatting and parsing', async t => {
  const dates = fc.sample(fc.date({min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true}), 300)
  const rows = dates.map(date => ({iso: date.toISOString().slice(0, 10)}))
  const format = 'D.M.YYYY'
  const outcomes = await evaluateAll(rows, {
    same: `helpers.date(helpers.formatDate(row.iso, '${format}'), '${format}')`,
    later: 'helpers.addDate(helpers.addDate(row.iso, 40, "days"), -40, "days")',
  })
  for (const [at, {iso}] of rows.entries()) {
    t.deepEqual(outcomes[at]!.same, {value: iso})
    if (iso < '9999-11-01') t.deepEqual(outcomes[at]!.later, {value: iso})
  }
})

test('any moment survives a conversion to any time zone and back', async t => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Africa/Casablanca', 'Pacific/Apia']
  const moments = fc.sample(fc.date({min: new Date('1975-01-01'), max: new Date('2037-01-01'), noInvalidDate: true}), 200)
  const rows = moments.map((moment, at) => ({iso: `${moment.toISOString().slice(0, 19)}Z`, zone: zones[at % zones.length]!}))
  const outcomes = await evaluateAll(rows, {
    there: 'helpers.toZone(row.iso, row.zone)',
    back: '(there => ["earlier", "later"].map(which => helpers.fromZone(there.slice(0, 19), row.zone, which)).includes(there))(helpers.toZone(row.iso, row.zone))',
  })
  for (const [at, {iso, zone}] of rows.entries()) {
    const {there, back} = outcomes[at] as {there: ExpressionOutcome; back: ExpressionOutcome}
    t.is(
      'value' in there ? new Date(String(there.value)).toISOString() : there.error.message,
      new Date(iso).toISOString(),
      `${iso} ${zone}`,
    )
    t.deepEqual(back, {value: true}, `${iso} ${zone}`)
  }
})
