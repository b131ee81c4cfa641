import test from 'ava'
import {type ModelSimulator, modelEnvironment, startModel} from '../simulators/model.ts'
import {openCalls} from '../support/client.ts'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {costly, costlyCleaning, measureTurns, mostMs, turnLimitMs, wide} from '../support/turns.ts'
import {startWatchedApi, type WatchedApi} from '../support/watched-api.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>
let api: WatchedApi
let model: ModelSimulator

test.before(async t => {
  model = await startModel()
  endAfterTests(model.stop)
  const models = modelEnvironment(model, 'openai')
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: models})
  org = await openOrg(here)
  const {DATABASE_URL = '', STORAGE_DIR, ADMIN_TOKEN = ''} = here.config
  const same = {NODE_ENV: 'test', DATABASE_URL, STORAGE_DIR, ADMIN_TOKEN, CRM_STANDIN_URL: here.crm.url, LOG_LEVEL: 'error'}
  api = await startWatchedApi({...same, ...models})
  endAfterTests(api.stop)
})

const call = (method: string, path: string, body?: unknown) => openCalls(api.url)(org.session)(method, path, body)

const prepare = async (csv: string, column: string) => {
  const {import: made} = await ok(call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(call('POST', `${path}/sources?name=test.csv`, csv), 201)
  const flows = [{id: 'f', sourceId: source.id, module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: column}]}]
  await ok(call('PUT', `${path}/flows`, flows), 200)
  return {id: made.id as string, path, source, flows}
}
const run = async (path: string, body = {}) => {
  const {run: started} = await ok(call('POST', `${path}/runs`, body), 202)
  await untilEnded(call as never, `${path}/runs/${started.id}`)
  return started.id as string
}

/** The import of a file of 16,384 columns. All cases share it. */
let wideImport: ReturnType<typeof prepare> | undefined
const openWide = () => {
  wideImport ??= prepare(wide, 'c0')
  return wideImport
}
/** The number of the next part to request. Each request needs another part, because the API caches parts. */
let part = 0

const cases: Record<string, () => Promise<() => Promise<unknown>>> = {
  'flows of a file of 16,384 columns are set': async () => {
    const {path, flows} = await openWide()
    return () => ok(call('PUT', `${path}/flows`, flows), 200)
  },
  'a template is made of a file of 16,384 columns': async () => {
    const {id} = await openWide()
    return () => ok(call('POST', `/orgs/${org.org}/templates`, {name: 'Wide', fromImport: id}), 201)
  },
  'a question about a file of 16,384 columns is asked': async () => {
    const {id, source} = await openWide()
    return () => ok(call('POST', '/ai/chat', {message: 'What is in it?', import: id, source: source.id}), 200)
  },
  'a run of a file of 16,384 columns starts, and its results are made': async () => {
    const {path} = await openWide()
    return async () => {
      const id = await run(path)
      await ok(call('GET', `${path}/results.csv?run=${id}`), 200)
      await ok(call('GET', `${path}/failed.csv?run=${id}`), 200)
    }
  },
  '300 columns are mapped to fields, and a formula for them is asked': async () => {
    const columns = Array.from({length: 300}, (_, at) => `Customer billing address ${at}`)
    const rows = Array.from({length: 20}, (_, row) => columns.map((_, at) => `Some value ${row} of column ${at}`))
    const sample = {columns, rows}
    return async () => {
      await ok(call('POST', '/ai/auto-map', {...sample, modules: ['Accounts', 'Contacts']}), 200)
      await call('POST', '/ai/formula', {...sample, module: 'Accounts', field: 'Account_Name', question: 'Which one?'})
    }
  },
  'the plan of a dry run of 20,000 rows is made': async () => {
    const {path} = await prepare(`name\n${Array.from({length: 20_000}, (_, row) => `Company ${row}`).join('\n')}\n`, 'name')
    const id = await run(path, {dryRun: true})
    return () => ok(call('GET', `${path}/plan.csv?run=${id}&from=1&to=${20_000 - ++part}`), 200)
  },
  'the results of a file that costly patterns clean are made': async () => {
    const {path, source} = await prepare(costly, 'name')
    await ok(call('PATCH', `${path}/sources/${source.id}`, {cleaning: costlyCleaning}), 200)
    const id = await run(path)
    return async () => {
      await ok(call('GET', `${path}/results.csv?run=${id}&from=1&to=${++part}`), 200)
      await ok(call('GET', `${path}/failed.csv?run=${id}`), 200)
    }
  },
}

for (const [title, open] of Object.entries(cases))
  test.serial(`nothing blocks the API's event loop longer than ${mostMs} ms while ${title}`, async t => {
    const turns = await measureTurns(api, await open())
    const limit = turnLimitMs()
    t.log(`${turns.map(turn => turn.toFixed(1)).join(', ')} of ${limit.toFixed(1)}`)
    t.true(Math.min(...turns) <= limit, `${turns}`)
  })
