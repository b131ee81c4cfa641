import test from 'ava'
import fc from 'fast-check'
import {checkImport} from '../support/import-checks.ts'
import {ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['checks', 'imports', 'discovery'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
  here.crm.setSwitches({strictPicklists: true})
})

const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
const fields = [
  column('Name', 'name'),
  column('Reference', 'ref'),
  column('Short', 'short'),
  column('Status', 'status'),
  column('Channels', 'channels'),
  column('Quantity', 'qty', {transform: 'value === "boom" ? row.name.none.none : value'}),
  column('Amount', 'amount'),
  column('Serial', 'serial'),
  column('Order_Date', 'day', {empty: 'clear'}),
  column('Due_At', 'due', {zone: 'Europe/Berlin'}),
  column('Paid', 'paid'),
  column('Contact_Email', 'mail'),
]
const names = ['name', 'ref', 'short', 'status', 'channels', 'qty', 'amount', 'serial', 'day', 'due', 'paid', 'mail']

/** Cells by column. GOOD cells are accepted in any row; most BAD cells are not. */
const GOOD: Record<string, string[]> = {
  name: ['Ana', 'Übersee', 'a; b', '  Bo  '],
  short: ['', 'ten chars.', 'ok'],
  status: ['', 'New', 'fresh', 'Shipped', 'CONFIRMED'],
  channels: ['', 'Web', 'web; shop', '["Phone"]'],
  qty: ['', '1', '-20', '999999999'],
  amount: ['', '0.5', '12.34', '-3'],
  serial: ['', '123456', '7'],
  day: ['', '2026-02-28', '\\N'],
  due: ['', '2026-02-28T10:00:00Z', '2026-07-01 08:30:00'],
  paid: ['', 'yes', '0', 'TRUE'],
  mail: ['', 'a@b.example', 'x.y+z@sub.example.org'],
}
const BAD: Record<string, string[]> = {
  name: ['', '\\N', 'x'.repeat(121)],
  short: ['eleven char'],
  status: ['Unknown'],
  channels: ['Web; Fax'],
  qty: ['many', '1.5', '1234567890', 'boom'],
  amount: ['a lot', '12.345'],
  serial: ['1234567890123456789', '1.5', '123456789012345678'],
  day: ['2026-02-30', '28/02/2026'],
  due: ['2026-03-29 02:30:00', 'noon'],
  paid: ['perhaps'],
  mail: ['nobody', 'a b@c.example'],
}

const cells = (isBad: boolean) =>
  fc.record(Object.fromEntries(names.filter(name => name !== 'ref').map(name => [name, cellOf(name, isBad)]))) as fc.Arbitrary<
    Record<string, string>
  >
const cellOf = (name: string, isBad: boolean) =>
  isBad
    ? fc.oneof({weight: 6, arbitrary: fc.constantFrom(...GOOD[name]!)}, {weight: 1, arbitrary: fc.constantFrom(...BAD[name]!)})
    : fc.constantFrom(...GOOD[name]!)
const files = (isBad: boolean, [fewest, most]: [number, number]) =>
  fc.array(fc.tuple(cells(isBad), fc.integer({min: 0, max: 8}), isBad ? fc.integer({min: 0, max: 14}) : fc.constant(1)), {
    minLength: fewest,
    maxLength: most,
  })

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
let files_ = 0
/** Returns a file with unique references. If `isBad`, two rows in fifteen have a repeated reference and one in fifteen is ragged, on average. */
const csvOf = (rows: [Record<string, string>, number, number][], isBad: boolean) => {
  const prefix = `f${files_++}`
  const lines = rows.map(([row, ref, sort], at) => {
    const reference = isBad && sort > 12 ? `${prefix}-dup-${ref % 2}` : `${prefix}-${at}`
    const line = names.map(name => quoted(name === 'ref' ? reference : row[name]!)).join(',')
    return sort === 0 ? `${line},over` : line
  })
  return `${names.join(',')}\n${lines.join('\n')}\n`
}

const run = async (path: string) => {
  const started = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return untilEnded(org.call, `${path}/runs/${started.run.id}`)
}

for (const seed of [11, 12, 13])
  test.serial(`a run after a check without problems refuses and fails no row: seed ${seed}`, async t => {
    const [rows] = fc.sample(files(false, [40, 90]), {seed, numRuns: 1})
    const {path} = await prepareImport(org, {csv: csvOf(rows!, false), flow: {module: 'Orders', fields}})
    const {job, problems} = await checkImport(org, path)
    t.deepEqual(problems, [])
    t.like(job.result, {errors: 0, warnings: 0})
    const {stop, counts} = await run(path)
    t.is(stop, null)
    t.like(counts.Orders, {created: rows!.length, failed: 0, refused: 0, skipped: 0})
  })

for (const seed of [11, 12, 13, 14, 15, 16])
  test.serial(`the rows that a check reports as errors are exactly those that a run fails or refuses: seed ${seed}`, async t => {
    for (const rows of fc.sample(files(true, [20, 40]), {seed, numRuns: 2})) {
      const csv = csvOf(rows, true)
      const {path} = await prepareImport(org, {csv, flow: {module: 'Orders', fields}})
      const {problems} = await checkImport(org, path)
      const foretold = new Set<number>(problems.filter(({severity}) => severity === 'error').flatMap(problem => problem.rows))
      const ended = await run(path)
      const log = await readLog(org.call, `${path}/runs/${ended.id}`)
      const fallen = log.filter(({outcome}) => outcome === 'failed' || outcome === 'refused')
      const said = JSON.stringify({csv, problems: problems.map(({kind, field, rows}) => [kind, field, rows]), fallen}, null, 1)
      t.deepEqual([...foretold].sort(byNumber), fallen.map(({rowNumber}) => rowNumber as number).sort(byNumber), said)
    }
  })

const byNumber = (a: number, b: number) => a - b
