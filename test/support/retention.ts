import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {doNight} from '../../workers/retention/night.ts'
import {type Org, ok, openOrg} from './importing.ts'
import {startTestDeployment, type TestDeployment} from './test-deployment.ts'
import {until} from './until.ts'

const drain = new AbortController().signal

/** Starts a deployment with one org, whose calls use an API token because sessions expire when the clock moves. */
export const openRetaining = async (t: Parameters<typeof startTestDeployment>[0], workers: string[] = []) => {
  const here = await startTestDeployment(t, {
    workers: ['imports', 'discovery', 'checks', 'archive', ...workers],
    environment: {LEASE_SECONDS: '1'},
  })
  const org = await openLasting(here)
  await setWindow(here, org, 30)
  const night = (more: object = {}) => doNight({...here.tools, drain, ...more})
  const nights = async () => (await ok(here.as(here.adminToken)('GET', '/staff/retention'), 200)).nights
  return {here, org, night, nights}
}

export const openLasting = async (here: TestDeployment, user?: string): Promise<Org> => {
  const org = await openOrg(here, user)
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'lasting'}), 201)
  return {...org, call: here.as(secret)}
}

export const setWindow = async ({hot}: TestDeployment, {org}: Pick<Org, 'org'>, days: number) => {
  await hot.query(
    `with made as (
      insert into plan_versions select (jsonb_populate_record(p, jsonb_build_object(
        'id', 'window.' || $2::int, 'key', 'window', 'version', $2::int, 'limits', limits || jsonb_build_object('historyDays', $2::int)))).*
      from plan_versions p where id = (select plan_version_id from orgs where id = $1) returning id)
    update orgs set plan_version_id = made.id from made where orgs.id = $1`,
    [org, days],
  )
}

export const archived = ({db}: TestDeployment) =>
  until(
    () => db.exists(sql.type(z.object({}))`select from runs where state = 'ended' and not archived`),
    left => !left,
  )

const content = [
  'run_log',
  'log_batches',
  'chain_rows',
  'unsettled',
  'run_snapshots',
  'segments',
  'sources',
  'decisions',
  'questions',
  'question_rows',
]
const tables = [
  ...content,
  'checks',
  'check_problems',
  'admissions',
  'admitted_blocks',
  'sends',
  'run_cursors',
  'run_lookups',
  'loose_objects',
]

/** Counts the rows of these tables. Empty tables are omitted. */
export const countAll = async ({hot}: TestDeployment, names = tables) => {
  const counted: Record<string, number> = {}
  for (const name of names) {
    const {rows} = await hot.query(`select count(*) as n from ${name}`)
    if (rows[0].n > 0) counted[name] = rows[0].n
  }
  return counted
}

export const keysOf = async ({storage}: TestDeployment) => {
  const keys: string[] = []
  for await (const {key} of storage.list()) keys.push(key)
  return keys
}

export const refusal = async (answering: ReturnType<Org['call']>) => {
  const {status, body} = await answering
  return [status, body.code]
}
