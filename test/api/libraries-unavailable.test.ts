import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import {startApiProcess} from '../support/api-process.ts'
import {openCalls} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const library = (namespace: string, answer: number) => ({
  manifest: {namespace, version: `${answer}.0.0`, scope: 'org', functions: [{name: 'go', examples: [{arguments: [], result: answer}]}]},
  source: `export const go = () => ${answer}`,
})

test('libraries cannot be published or restored without a sandbox, and the answer says to retry', async t => {
  const {org, token} = await house.makeOrg()
  const {secret} = await ok(house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'ci'}), 201)
  const path = `/orgs/${org}/libraries`
  for (const answer of [1, 2]) await ok(house.as(token)('PUT', `${path}/typed`, library('typed', answer)), 200)
  await ok(house.as(secret)('PUT', `${path}/pushed`, library('pushed', 1)), 200)
  const before = await ok(house.as(token)('GET', `/orgs/${org}/config/resolved`), 200)

  // The process of this API may not start threads, so only its sandbox fails.
  const storage = await mkdtemp(join(tmpdir(), 'lading-threadless-'))
  const {DATABASE_URL, CRM_STANDIN_URL} = house.config
  const NODE_OPTIONS = '--permission --allow-fs-read=* --allow-fs-write=* --allow-addons'
  const api = await startApiProcess({DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR: storage, NODE_OPTIONS})
  t.teardown(async () => {
    api.signal('SIGKILL')
    await api.exit
    await rm(storage, {recursive: true})
  })
  const [owner, repository] = [openCalls(api.url)(token), openCalls(api.url)(secret)]
  const refused = {status: 503, body: {code: 'SANDBOX_UNAVAILABLE'}}
  t.like(await owner('PUT', `${path}/fresh`, library('fresh', 1)), refused)
  t.like(await owner('PUT', `${path}/typed`, library('typed', 3)), refused)
  t.like(await owner('POST', `${path}/typed/versions/1/restore`), refused)
  // The current version is not loaded again.
  t.like(await ok(owner('POST', `${path}/typed/versions/2/restore`), 200), {library: {versionNumber: 2}})
  t.like(await repository('POST', `/orgs/${org}/config/bundle`, {libraries: [library('pushed', 2)]}), refused)
  t.regex((await owner('PUT', `${path}/fresh`, library('fresh', 1))).body.error, /Try again/)
  // Errors that the source alone shows need no sandbox.
  t.like(await owner('PUT', `${path}/fresh`, library('other', 1)), {status: 400, body: {code: 'NAMESPACE_MISMATCH'}})
  t.deepEqual(await ok(owner('GET', `/orgs/${org}/config/resolved`), 200), before)
})
