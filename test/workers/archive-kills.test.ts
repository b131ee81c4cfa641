import {once} from 'node:events'
import test from 'ava'
import {z} from 'zod'
import {findOrgRun} from '../../shared/runs/find.ts'
import {readOutcomes} from '../../shared/runs/results/outcomes.ts'
import {sql} from '../../sql/database.ts'
import {maintainSegments} from '../../workers/archive.ts'
import {startWorkers} from '../../workers/start.ts'
import {accountRows, accounts, openOrg, readLog, runImport} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '1'}})
  org = await openOrg(here)
})

const rows = 250

const standingOf = (id: string) =>
  here.db.one(sql.type(
    z.object({no: z.number(), recordsAt: z.string(), archived: z.boolean(), here: z.number()}),
  )`select run_no as no, records_at as "recordsAt", archived, (select count(*) from log_entries l where l.run_no = r.run_no) as here
    from runs r where id = ${id}`)

/** Returns the outcomes of every row, from the database or from storage, wherever the records of the run are. */
const outcomesOf = async (runId: string) => {
  const {run, snapshot} = await findOrgRun(here.db, {org: org.org, runId})
  const all = []
  for await (const some of readOutcomes(here.tools, {run: run.no, source: snapshot!.sources[0]!, flows: snapshot!.flows})) all.push(...some)
  return all
}

/** The steps of archiving one log segment and one outcome segment, in order. */
for (const [at, step] of ['log stored', 'outcomes stored', 'before the flip', 'after the flip', 'entries deleted'].entries()) {
  test.serial(
    `a run whose archiving worker is killed at "${step}" is archived by the next worker, with nothing missing or double`,
    async t => {
      const {run, path} = await runImport(org, {csv: accountRows(rows, `K${at}-`), flow: accounts})
      const runPath = `${path}/runs/${run.id}`
      const before = {log: await readLog(org.call, runPath), outcomes: await outcomesOf(run.id)}
      const killed = startWorker(here.config, {FAULT_POINT: `in_archive:${at + 1}`}, ['archive'])
      const [, signal] = await once(killed, 'exit')
      t.is(signal, 'SIGKILL')
      t.like(await standingOf(run.id), at < 3 ? {recordsAt: 'db', here: rows} : {recordsAt: 'storage', here: at === 3 ? rows : 0})
      t.deepEqual({log: await readLog(org.call, runPath), outcomes: await outcomesOf(run.id)}, before)
      await here.db.query(sql.unsafe`update runs set archive_after = null where id = ${run.id}`)
      const {stop} = await startWorkers(['archive'], here.config)
      await until(
        () => standingOf(run.id),
        ({archived}) => archived,
      )
      await stop()
      t.like(await standingOf(run.id), {recordsAt: 'storage', here: 0})
      t.deepEqual({log: await readLog(org.call, runPath, 77), outcomes: await outcomesOf(run.id)}, before)
      await assertAccounted(here, {org, path, run, rows})
      await endWorker(killed)
    },
  )
}

test.serial('objects that killed workers left in storage are swept a day later, and no others are', async t => {
  const keys = () => here.db.anyFirst(sql.type(z.object({key: z.string()}))`select key from loose_objects order by key`)
  const loose = await keys()
  t.is(loose.length, 1 + 2 + 2, 'one object at the first kill, two at the second and third')
  await here.ahead('25 hours')
  await maintainSegments({...here.tools, drain: new AbortController().signal})
  t.deepEqual(await keys(), [])
  for (const key of loose) t.false(await here.storage.exists(key))
  const named = await here.db.anyFirst(sql.type(z.object({key: z.string()}))`select key from segments`)
  t.is(named.length, 10)
  for (const key of named) t.true(await here.storage.exists(key))
})
