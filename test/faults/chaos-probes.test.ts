import test, {type ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import type {FaultAction, FaultSpec} from '../simulators/crm/faults.ts'
import {ok} from '../support/importing.ts'
import {column} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {type Case, csvOf, type Part} from './cases.ts'
import {accountsFile, accountsFlow, accountsPart, byMail, writeFamily} from './chaos-files.ts'
import {type ChaosCase, type ChaosPlayed, chaosEnvironment, type Lane, openChaosRuns, playCase} from './chaos-lane.ts'
import {NO_ERRORS} from './judge.ts'
import {readResults} from './judge-files.ts'
import {openRandom} from './random.ts'

/** The CRM time-out in seconds. With half a second, the search for an unanswered create starts after 1.5 s. */
const timeoutSeconds = 0.5
let here: Awaited<ReturnType<typeof startTestDeployment>>
let nextLane: ReturnType<typeof openChaosRuns>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports'],
    environment: chaosEnvironment(timeoutSeconds, 30),
    crm: {journal: {limit: 5_000}},
  })
  nextLane = openChaosRuns(here)
})

type Play = (laid: ChaosCase) => Promise<ChaosPlayed>

/** Declares a test in a separate org. Each call of `play` also asserts that the judge finds no errors. */
const probe = (title: string, body: (t: ExecutionContext, play: Play, lane: Lane) => Promise<void>) =>
  test(title, async t => {
    const lane = await nextLane()
    const play: Play = async laid => {
      const played = await playCase(lane, laid)
      for (const [at, {errors, says}] of played.verdicts.entries())
        t.deepEqual(errors, NO_ERRORS, `${at ? 'after the retry' : 'after the run'}: ${says.join('\n')}`)
      return played
    }
    await body(t, play, lane)
  })

const on = (method: string, module: string, action: FaultAction, {nth = 1, times = 1} = {}): FaultSpec => ({
  match: {method, path: `/crm/v8/${module}`, nth},
  times,
  action,
})

type Lead = {company: string; first?: string; mail: string}

/** Returns an import of leads with the company before the name, as in real files. The email address identifies a lead. */
const leads = (rows: Lead[], more: object = {}, part: Partial<Part> = {}): Case => ({
  name: 'leads',
  files: {
    leads: csvOf(
      ['company', 'first', 'mail'],
      [rows.map(({company}) => company), rows.map(({first = 'Ana'}) => first), rows.map(({mail}) => mail)],
    ),
  },
  flows: [
    {
      id: 'leads',
      source: 'leads',
      module: 'Leads',
      ...more,
      fields: [column('Company', 'company'), column('First_Name', 'first'), column('Last_Name', 'first'), column('Email', 'mail')],
    },
  ],
  parts: [
    {
      flow: 'leads',
      source: 'leads',
      module: 'Leads',
      field: 'Email',
      unique: false,
      column: 'mail',
      tags: rows.map(({mail}) => mail),
      ...part,
    },
  ],
  before: [],
  start: {},
})
const rowsOf = (count: number): Lead[] => Array.from({length: count}, (_, n) => ({company: `Acme ${n}`, mail: `r${n + 1}@example.org`}))

const accounts = (tags: string[], more: object = {}, before: Case['before'] = []): Case => {
  const towns = tags.map((_, n) => `Town ${n}`)
  const parts = [accountsPart(tags, towns, 'match' in more ? {} : {matched: true})]
  return {name: 'accounts', files: accountsFile(tags, towns), flows: [accountsFlow(more)], parts, before, start: {}}
}
const numbers = (count: number) => Array.from({length: count}, (_, n) => `A-${n + 1}`)
const unmatched = {match: undefined}

const linesOf = ({chains}: ChaosPlayed, source: string, at = 0) => readResults(chains[0]![at]!.results[source]!)
const finalsIn = (played: ChaosPlayed, source: string, at = 0) => {
  const counts: Record<string, number> = {}
  for (const {result} of linesOf(played, source, at)) counts[result] = (counts[result] ?? 0) + 1
  return counts
}

const unreadable = (nth: number) => on('POST', 'Leads', {type: 'nonJson'}, {nth})

probe('an unanswered create is not sent again before the lag has passed, and its records are found', async (t, play, lane) => {
  const played = await play({laid: leads(rowsOf(20)), faults: [unreadable(1), unreadable(2)], switches: {coqlLagSeconds: 5}})
  t.is(linesOf(played, 'leads').filter(({result, error}) => result === 'Written' && error === '').length, 20)
  t.is(here.crm.count(lane.key, 'Leads'), 20)
})

probe('a run waits for the lag that the doctor measured, if it is longer than the configured one', async (t, play, lane) => {
  const lag = here.config.CRM_LAG_SECONDS
  await here.db.query(sql.unsafe`
    update connectors set capabilities = ${JSON.stringify({coqlLagSeconds: lag})}::jsonb where id = ${lane.org.connector}`)
  const played = await play({laid: leads(rowsOf(20)), faults: [unreadable(1), unreadable(2)], switches: {coqlLagSeconds: 1.5 * lag}})
  t.is(finalsIn(played, 'leads').Written, 20)
  t.is(here.crm.count(lane.key, 'Leads'), 20)
})

probe('a row with two unanswered creates and one visible record reports that the other may exist', async (t, play, lane) => {
  const made = () => here.crm.records(lane.key, 'Leads').map(({id}) => id)
  let first: string[] = []
  await play({
    laid: leads(rowsOf(20)),
    faults: [unreadable(1), unreadable(2)],
    switches: {coqlLagSeconds: 1_000},
    meanwhile: async () => {
      first = await until(made, ids => ids.length === 20)
      // Waits until the run sends a create again, or ends without doing so.
      await Promise.race([until(made, ids => ids.length > 20), isOver(lane)])
      here.crm.catchUp(lane.key, 'Leads', first)
    },
  })
  t.is(first.length, 20)
})

const isOver = ({org}: Lane) =>
  until(
    async () => (await ok(org.call('GET', '/entitlements/usage'), 200)).rows,
    ({used, reserved}) => used > 0 && reserved === 0,
    60,
  )

/**
 * Runs a file whose rows 1 and 11 have the same key. The create of row 1 loses its answer, and another user changes the record before the run
 * finds it. `isUndone`: the user reverts the change before the retry.
 */
const playRepeat = async (play: Play, lane: Lane, {isUndone}: {isUndone: boolean}) => {
  const rows = rowsOf(12)
  rows[10]!.mail = rows[0]!.mail
  const first = () => lane.here.crm.records(lane.key, 'Leads').find(({Email}) => Email === rows[0]!.mail)
  const rename = (First_Name: string) => lane.here.crm.update(lane.key, 'Leads', [{id: first()!.id, First_Name}], {as: lane.other})
  return play({
    laid: leads(rows, byMail, {matched: true}),
    faults: [on('POST', 'Leads', {type: 'dropAfter'})],
    meanwhile: async () => {
      await until(first, record => record !== undefined)
      rename('Changed')
    },
    beforeRetry: () => void (isUndone && rename('Ana')),
  })
}

probe('a second row with the same key updates the record of an unanswered first row and creates no other', async (t, play, lane) => {
  const played = await playRepeat(play, lane, {isUndone: false})
  const [first, second] = [linesOf(played, 'leads')[0]!, linesOf(played, 'leads')[10]!]
  t.is(first.result, 'No answer')
  t.is(second.result, 'Written')
  t.is(here.crm.records(lane.key, 'Leads').filter(({Email}) => Email === 'r1@example.org').length, 1, 'row 11 updates what row 1 made')
})

probe('a retry of two rows with the same key finds the record of the first row', async (t, play, lane) => {
  await playRepeat(play, lane, {isUndone: true})
  t.is(here.crm.records(lane.key, 'Leads').filter(({Email}) => Email === 'r1@example.org').length, 1)
})

probe('a lost create that is refused as a duplicate claims the record that COQL does not show yet', async (t, play, lane) => {
  const played = await play({
    laid: accounts(numbers(20), unmatched),
    faults: [on('POST', 'Accounts', {type: 'dropAfter'})],
    switches: {coqlLagSeconds: 1_000},
    beforeRetry: () =>
      here.crm.catchUp(
        lane.key,
        'Accounts',
        here.crm.records(lane.key, 'Accounts').map(({id}) => id),
      ),
  })
  t.deepEqual(finalsIn(played, 'companies'), {Written: 20})
})

for (const at of ['first', 'middle', 'last'] as const)
  probe(`an answer without its ${at} item gives no row another row's record and no child a wrong parent`, async (_t, play) => {
    const laid = writeFamily({dice: openRandom(6), mark: 'F-', rows: 40})
    await play({laid, faults: [on('POST', 'Accounts', {type: 'shortData', at})]})
  })

for (const module of ['Leads', 'Accounts'])
  probe(`a success that names another row's record counts as unanswered (${module})`, async (t, play) => {
    const laid = module === 'Leads' ? leads(rowsOf(10)) : accounts(numbers(10), unmatched)
    const played = await play({laid, faults: [on('POST', module, {type: 'wrongId', index: 3, of: 0})]})
    t.is(finalsIn(played, laid.parts[0]!.source).Failed ?? 0, 0)
  })

for (const [when, ms] of [
  ['before', 900],
  ['after', 3_300],
] as const)
  probe(`an update that arrives ${when} its deadline leaves no old value unreported`, async (t, play) => {
    const tags = numbers(10).flatMap(tag => [tag, tag])
    const before = [{module: 'Accounts', records: numbers(10).map(tag => ({Account_Name: 'Theirs', Account_Number: tag}))}]
    const played = await play({laid: accounts(tags, {}, before), faults: [on('PUT', 'Accounts', {type: 'late', ms})]})
    t.is(played.chains[0]![0]!.run.counts.Accounts.updated, 20)
  })

probe("a retry does not overwrite a later row's value with an older one unreported", async (t, play) => {
  const tags = numbers(10).flatMap(tag => [tag, tag])
  const before = [{module: 'Accounts', records: numbers(10).map(tag => ({Account_Name: 'Theirs', Account_Number: tag}))}]
  const faults = [on('PUT', 'Accounts', {type: 'refuse', index: [0, 1, 2, 3], code: 'RECORD_LOCKED'})]
  const played = await play({laid: accounts(tags, {}, before), faults})
  t.is(played.chains[0]!.length, 2)
})

probe('two equal imports at once never claim the same record', async (t, play, lane) => {
  const played = await play({laid: leads(rowsOf(40)), faults: [on('POST', 'Leads', {type: 'dropBefore'}, {nth: 2})], imports: 2})
  const claimed = played.chains.flatMap(([{log}]: any) =>
    log.flatMap(({outcome, recordId}: any) => (outcome === 'created' ? [recordId] : [])),
  )
  t.is(new Set(claimed).size, claimed.length)
  t.is(here.crm.count(lane.key, 'Leads'), 80)
})

probe(
  'lost creates are searched by their identifying values, even among 2,000 other records of the same company',
  async (t, play, lane) => {
    const played = await play({
      laid: leads(rowsOf(10)),
      faults: [on('POST', 'Leads', {type: 'dropAfter'})],
      meanwhile: async () => {
        await until(
          () => here.crm.count(lane.key, 'Leads'),
          count => count >= 10,
        )
        const others = Array.from({length: 2_100}, (_, n) => ({
          Company: `Acme ${n % 10}`,
          Last_Name: 'Another',
          Email: `o${n}@example.org`,
        }))
        here.crm.create(lane.key, 'Leads', others, {as: `${lane.key}@chaos.example`})
      },
    })
    t.deepEqual(finalsIn(played, 'leads'), {Written: 10})
    t.is(here.crm.count(lane.key, 'Leads'), 2_110)
  },
)

probe('creates that never arrived are sent again, and no record of another user is named', async (t, play, lane) => {
  let sent = 0
  const played = await play({
    laid: leads(rowsOf(10)),
    faults: [on('POST', 'Leads', {type: 'dropBefore'})],
    meanwhile: async () => {
      sent = await until(
        () => here.crm.journal({org: lane.key, method: 'POST', module: 'Leads'}).length,
        count => count > 0,
      )
      const others = Array.from({length: 10}, (_, n) => ({Company: `Acme ${n}`, Last_Name: 'Another', Email: `o${n}@example.org`}))
      here.crm.create(lane.key, 'Leads', others, {as: `${lane.key}@chaos.example`})
    },
  })
  t.true(sent > 0)
  t.deepEqual(finalsIn(played, 'leads'), {Written: 10})
  t.is(here.crm.count(lane.key, 'Leads'), 20)
})

probe('the results.csv of a retry still reports that a record may exist twice', async (t, play) => {
  const played = await play({laid: leads(rowsOf(10)), faults: [on('POST', 'Leads', {type: 'dropBefore'})], alwaysRetry: true})
  for (const at of [0, 1]) t.is(linesOf(played, 'leads', at).filter(({error}) => /may exist twice/.test(error)).length, 10, `run ${at + 1}`)
})

probe('three lost answers are resolved by a later search of the unique field, and no row reports a second record', async (t, play) => {
  const played = await play({laid: accounts(numbers(20), unmatched), faults: [on('POST', 'Accounts', {type: 'dropAfter'}, {times: 3})]})
  t.deepEqual(finalsIn(played, 'companies'), {Written: 20})
  t.is(linesOf(played, 'companies').filter(({error}) => /may exist twice/.test(error)).length, 0)
})
