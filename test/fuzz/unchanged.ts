import assert from 'node:assert/strict'
import fc from 'fast-check'
import {openDeployment} from '../support/deployment.ts'
import {type Org, openOrg, readLog, runImport} from '../support/importing.ts'
import {
  contentOf,
  csvOf,
  type ExpectedWrites,
  expectWrites,
  flowOf,
  type HeldRecord,
  seedsOf,
  type UnchangedCase,
  unchangedCases,
} from '../support/unchanged-files.ts'

type House = Awaited<ReturnType<typeof openDeployment>>
/** A CRM org and the org of this service that is connected to it. */
type Side = {house: House; crmOrg: 'example' | 'other'; org: Org}
type Unchanged = 'skip' | 'write'

/**
 * Imports random files twice into two CRM orgs. One org's imports skip unchanged rows, and the other's write every row. After each import both
 * orgs must hold the same records, and the import that skips must have written exactly the rows that change their record.
 */
export const fuzzUnchanged = async (house: House, {cases, seed}: {cases: number; seed: number}): Promise<void> => {
  const sides = {
    skip: {house, crmOrg: 'example' as const, org: await openOrg(house)},
    write: {house, crmOrg: 'other' as const, org: await openOrg(house, 'zoe@other.example')},
  }
  const {failed, numRuns, errorInstance, counterexample} = await fc.check(
    fc.asyncProperty(unchangedCases, one => judge(house, sides, one)),
    {numRuns: cases, seed, endOnFailure: true},
  )
  if (failed) throw new Error(`Case ${numRuns} of seed ${seed}: ${describe(errorInstance, counterexample![0])}`, {cause: errorInstance})
}

/** Runs `fuzzUnchanged` in a separate deployment. Throws at the first failure. */
export const playUnchanged = async (options: {cases: number; seed: number}): Promise<void> => {
  const begun: (() => Promise<unknown>)[] = []
  try {
    const house = await openDeployment('unchanged', {workers: ['discovery', 'imports'], environment: unchangedEnvironment}, end =>
      begun.push(end),
    )
    await fuzzUnchanged(house, options)
    process.stdout.write(`${options.cases} files of seed ${options.seed} without a failure\n`)
  } finally {
    for (const end of begun.toReversed()) await end()
  }
}

export const unchangedEnvironment = {CRM_TIMEOUT_SECONDS: '30', CRM_LAG_SECONDS: '1'}

const describe = (error: unknown, one: UnchangedCase) =>
  [(error as Error).message, JSON.stringify({...one, rows: undefined}), csvOf(one)].join('\n').replaceAll(/(All of it\. ){9,}/g, 'long')

const judge = async (house: House, sides: Record<Unchanged, Side>, one: UnchangedCase) => {
  house.crm.clear()
  for (const side of Object.values(sides)) seed(side, one)
  await importBoth(sides, one)
  await importBoth(sides, one)
}

const seed = ({house, crmOrg}: Side, one: UnchangedCase) => {
  const accounts = house.crm.create(
    crmOrg,
    'Accounts',
    ['1', '2'].map(number => ({Account_Name: `Account ${number}`, Account_Number: number})),
  )
  const ids = accounts.map(({details}) => String((details as {id: unknown}).id))
  const entries = house.crm.create(
    crmOrg,
    'Orders',
    seedsOf(one, number => ids[Number(number) - 1]!),
  )
  assert.deepEqual(
    entries.filter(({status}) => status !== 'success'),
    [],
    'the seeds are records',
  )
}

const recordsOf = ({house, crmOrg}: Side) => house.crm.records(crmOrg, 'Orders') as HeldRecord[]
const numbersOf = ({house, crmOrg}: Side) => {
  const numbers = new Map(house.crm.records(crmOrg, 'Accounts').map(({id, Account_Number}) => [id, String(Account_Number)]))
  return (id: string) => numbers.get(id) ?? id
}

const importBoth = async ({skip, write}: Record<Unchanged, Side>, one: UnchangedCase) => {
  const expected = expectWrites(one, recordsOf(skip), numbersOf(skip))
  skip.house.crm.clearJournal()
  const csv = csvOf(one)
  const [{run, path}] = await Promise.all([
    runImport(skip.org, {csv, flow: flowOf(one, 'skip')}),
    runImport(write.org, {csv, flow: flowOf(one, 'write')}),
  ])
  try {
    assertImport({skip, write}, one, {run, expected})
  } catch (error) {
    const log = await readLog(skip.org.call, `${path}/runs/${run.id}`)
    const entries = log.map(({rowNumber, phase, outcome, code, message}) => [rowNumber, phase, outcome, code, message].join(' '))
    throw new Error([(error as Error).message, ...entries].join('\n'), {cause: error})
  }
}

type EndedImport = {run: any; expected: ExpectedWrites}

const assertImport = ({skip, write}: Record<Unchanged, Side>, one: UnchangedCase, {run, expected}: EndedImport) => {
  assert.equal(run.stop, null)
  assert.deepEqual(contentOf(recordsOf(skip), numbersOf(skip)), contentOf(recordsOf(write), numbersOf(write)), 'both hold the same records')
  const rowsOf = (method: string) =>
    skip.house.crm
      .journal({method, path: '/crm/v8/Orders', org: skip.crmOrg})
      .reduce((sum, {body}) => sum + (body as {data: unknown[]}).data.length, 0)
  const {creates, updates, patches} = expected
  assert.deepEqual(
    {creates: rowsOf('POST'), writes: rowsOf('PUT')},
    {creates, writes: updates + patches},
    `what is written: ${JSON.stringify(expected)}`,
  )
  const {created, updated, skipped, failed, refused} = run.counts.Orders
  assert.deepEqual({created, updated, failed, refused}, {created: creates, updated: updates, failed: 0, refused: 0})
  assert.equal(skipped, one.rows.length - creates - updates)
}
