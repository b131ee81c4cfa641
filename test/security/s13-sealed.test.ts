import {execFile} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import {promisify} from 'node:util'
import test, {type ExecutionContext} from 'ava'
import {listen} from '../../api/listen.ts'
import {openTools} from '../../api/open-deps.ts'
import {readConfig} from '../../shared/config.ts'
import {openAccess, openRefresh} from '../../shared/crm/sealed.ts'
import {newId} from '../../shared/ids.ts'
import {keySealingOf} from '../../shared/mapping/edit-marks/reseal.ts'
import {openSecret} from '../../shared/notifications/signature.ts'
import {bulkFileSeals, exportFileSeals} from '../../shared/runs/file-seal.ts'
import {sealedAs} from '../../shared/runs/idempotency-values.ts'
import {makeImageSeal} from '../../shared/runs/undo/image-key.ts'
import {makeVerifySeal} from '../../shared/runs/verify/verify-seal.ts'
import {type KeyRing, open, seal} from '../../shared/security/secrets.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {insertBulkJob, nameBulkRows} from '../../sql/bulk-jobs.ts'
import {sql} from '../../sql/database.ts'
import {keepIdempotencyKey} from '../../sql/idempotency.ts'
import {insertExportPart, nameExportPart} from '../../sql/match-exports.ts'
import {insertHead, takeLease} from '../../sql/run-heads.ts'
import {insertRun} from '../../sql/runs.ts'
import {insertLoose} from '../../sql/segments.ts'
import {keepWrittenModule} from '../../sql/written-records.ts'
import {openCalls} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {makeTemplate, seldom} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const [first, second] = ['k1', 'k2'].map(id => `${id}:${randomBytes(32).toString('base64')}`) as [string, string]
let house: TestDeployment
let home: Awaited<ReturnType<typeof fill>>
test.before(async t => {
  house = await startTestDeployment(t, {environment: {SECRETS_KEYS: first}})
  home = await fill()
})

type Opener = (ring: KeyRing, id: string, sealed: string) => string

/** Every column with sealed values, and the function that opens them. Add a new column here and to the key rotation. */
const columns: Record<string, Opener> = {
  'bulk_jobs.sealed': bulkFileSeals.open,
  'grants.access_sealed': openAccess,
  'grants.refresh_sealed': openRefresh,
  'idempotency_keys.sealed': (ring, id, sealed) => open(ring, sealed, sealedAs(id)),
  'image_keys.sealed': (ring, id, sealed) => open(ring, sealed, `${id} images`),
  'match_exports.sealed': exportFileSeals.open,
  'schedules.credentials': (ring, id, sealed) => open(ring, sealed, id),
  'verify_keys.sealed': (ring, id, sealed) => open(ring, sealed, `${id} verify`),
  'webhook_endpoints.old_secret_sealed': openSecret,
  'webhook_endpoints.secret_sealed': openSecret,
  'written_modules.key_sealed': (ring, id, sealed) => open(ring, sealed, keySealingOf({connector: id, module: 'Leads'})),
}

/** Creates two values in each sealed column. Returns an org with two connections. One run and one idempotency key belong to a second org. */
const fill = async () => {
  const home = await house.makeOrg()
  const call = house.as(home.token)
  const connectors = [await house.connect(home.token), await house.connect(home.token, {user: 'ben@example.org'})]
  for (const connector of connectors) {
    const {webhook} = await ok(call('POST', `/orgs/${home.org}/webhooks`, {url: 'https://receiver.example/hook'}), 201)
    await ok(call('POST', `/orgs/${home.org}/webhooks/${webhook.id}/secret`, {}), 200)
    const template = await makeTemplate({call, org: home.org, connector, session: home.token})
    const source = {kind: 'https', url: 'https://files.example/a.csv', bearer: `of-${connector}`}
    await ok(call('POST', `${template}/schedules`, {name: 'Nightly', ...seldom, source}), 201)
  }
  for (const connector of connectors) {
    const keySealed = seal(house.config.SECRETS_KEYS, 'key', keySealingOf({connector, module: 'Leads'}))
    await keepWrittenModule(house.db, {org: home.org, connector, module: 'Leads', keySealed, fields: []})
  }
  for (const org of [home.org, (await house.makeOrg()).org]) {
    await keepIdempotencyKey(house.db, {org, sealed: seal(house.config.SECRETS_KEYS, 'key', sealedAs(org))})
    await fillRun(org)
  }
  return {...home, connectors}
}

/** Creates a run with a key of each kind, and the keys of two files. */
const fillRun = async (org: string) => {
  const {db, config} = house
  const [id, ring] = [newId('run'), config.SECRETS_KEYS]
  const run = await db.transaction(async tx => {
    const no = await insertRun(tx, {id, org, person: null, connector: null, importNo: null, declaredRows: 1})
    await insertHead(tx, {run: no, rowsLimit: 1, limitBy: 'declaration'})
    return no
  })
  const {fence} = (await takeLease(db, {run, owner: 'test', seconds: 60}))!
  await makeImageSeal({db, ring}, {no: run, id})
  await makeVerifySeal({db, ring}, {no: run, id})
  const [rows, file] = [`${org}/runs/${id}/bulk`, `${org}/runs/${id}/export`]
  for (const key of [rows, file]) await insertLoose(db, key)
  const no = await insertBulkJob(db, {run, fence, flow: 1, operation: 'create', fileName: 'a.csv', rows: 1, secret: randomBytes(32)})
  await nameBulkRows(db, {run, no: no!, fence, key: rows, sealed: bulkFileSeals.seal(ring, id, 'key'), rows: 1})
  const part = {run, flow: 1, part: 0}
  await insertExportPart(db, {...part, job: '1', askedMs: 0})
  await nameExportPart(db, {...part, key: file, sealed: exportFileSeals.seal(ring, id, 'key'), nextPage: null, records: 1})
}

const idsOf: Record<string, string> = {grants: 'connector_id', written_modules: 'connector_id', idempotency_keys: 'org_id'}
const ofRuns = ['bulk_jobs', 'image_keys', 'match_exports', 'verify_keys']

const readSealed = async (column: string) => {
  const [table, name] = column.split('.').map(part => sql.identifier([part]))
  const of = column.split('.')[0]!
  const id = sql.identifier([idsOf[of] ?? 'id'])
  const from = ofRuns.includes(of) ? sql.fragment`${table!} join runs using (run_no)` : table!
  return (await house.db.any(sql.unsafe`select ${id} as id, ${name!} as text from ${from} where ${name!} is not null`)) as {
    id: string
    text: string
  }[]
}

const opens = (how: () => unknown) => {
  try {
    how()
    return true
  } catch {
    return false
  }
}

test.serial('sealed values are stored in these columns and no others', async t => {
  const found = (await house.db.any(sql.unsafe`
    select table_name as table, column_name as name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type in ('text', 'jsonb', 'ARRAY')`)) as {
    table: string
    name: string
  }[]
  const holding: string[] = []
  for (const {table, name} of found) {
    const [from, column] = [sql.identifier([table]), sql.identifier([name])]
    if (await house.db.exists(sql.unsafe`select from ${from} where ${column}::text like '%v1.k1.%'`)) holding.push(`${table}.${name}`)
  }
  t.deepEqual(holding.sort(), Object.keys(columns))
})

test.serial('ciphertexts exchanged between rows or columns cannot be opened', async t => {
  const ring = house.config.SECRETS_KEYS
  const sealed = await Promise.all(
    Object.entries(columns).map(async ([column, opener]) => ({column, opener, rows: await readSealed(column)})),
  )
  for (const {column, opener, rows} of sealed)
    for (const other of sealed)
      for (const row of rows)
        for (const {id, text} of other.rows) {
          const isAtHome =
            id === row.id && (column === other.column || (column.startsWith('webhook') && other.column.startsWith('webhook')))
          t.is(
            opens(() => opener(ring, row.id, text)),
            isAtHome,
            `${other.column} of ${id} as ${column} of ${row.id}`,
          )
        }
})

/** Starts an API with another key ring on the same database and stand-in. */
const listenUnder = async (t: ExecutionContext, keys: string) => {
  const config = {...house.config, SECRETS_KEYS: readConfig({SECRETS_KEYS: keys}).SECRETS_KEYS}
  const tools = await openTools(config, openLog('test', 'silent'))
  const api = await listen(tools)
  t.teardown(() => api.drain().then(tools.close))
  return openCalls(api.url)
}

test.serial('keys are rotated during use without a failure, and the old key can then be removed', async t => {
  const [both, alone] = [await listenUnder(t, `${second},${first}`), await listenUnder(t, second)]
  const use = async (as: ReturnType<typeof openCalls>) => {
    const call = as(home.token)
    const made = await call('POST', `/orgs/${home.org}/webhooks`, {url: 'https://receiver.example/hook'})
    const [health, gone] = await Promise.all([
      call('GET', `/auth/orgs/${home.org}/connection`),
      call('DELETE', `/orgs/${home.org}/webhooks/${made.body.webhook?.id}`),
    ])
    return [made.status, gone.status, ...health.body.connections.map((one: {health: string}) => one.health)]
  }
  const seen: (number | string)[][] = [await use(both)]
  let isTurned = false
  const using = (async () => {
    while (!isTurned) seen.push(await use(both))
  })()
  const environment = {NODE_ENV: 'test', LOG_LEVEL: 'silent', DATABASE_URL: house.config.DATABASE_URL!, SECRETS_KEYS: `${second},${first}`}
  const turned = await promisify(execFile)(process.execPath, ['shared/security/rotation.ts'], {env: {...process.env, ...environment}})
  isTurned = true
  await using
  t.regex(turned.stdout, /Remaining under other keys: 0\./)
  t.true(seen.length > 1, 'it was used meanwhile')
  for (const statuses of [...seen, await use(alone)]) t.deepEqual(statuses, seen[0]!)
  t.deepEqual(seen[0], [201, 200, 'ok', 'ok'])
  for (const column of Object.keys(columns))
    t.deepEqual(
      (await readSealed(column)).filter(({text}) => !text.startsWith('v1.k2.')),
      [],
      column,
    )
})
