import type {Route} from '../../api/route.ts'
import {accountRows, accounts, type Org, ok, runImport} from './importing.ts'
import {letIn} from './oauth-client.ts'
import {makeTemplate} from './templates.ts'
import type {TestDeployment} from './test-deployment.ts'
import {openUpload} from './uploads.ts'

/** The ids of an org's objects, one per kind. The key is the word that names the kind in paths. */
export type Ids = Record<string, string>

export const fillOrg = async (house: TestDeployment, org: Org, user: string): Promise<Ids> => {
  const of = (path: string) => `/orgs/${org.org}/${path}`
  const {token} = await ok(org.call('POST', of('tokens'), {name: 'ids'}), 201)
  const {invitation} = await ok(org.call('POST', of('invitations'), {email: 'new@example.org', role: 'operator'}), 201)
  const {members} = await ok(org.call('GET', of('members')), 200)
  const {job} = await ok(org.call('POST', of('discovery/run'), {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  const {run, path, source} = await runImport(org, {csv: accountRows(3, org.org.slice(-4)), flow: accounts})
  const [, , , , importId] = path.split('/')
  const library = `of_${org.org.slice(-6)}`
  await ok(org.call('PUT', of(`libraries/${library}`), {manifest: manifestOf(library), source: 'export const one = () => 1'}), 200)
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 1, connectorId: org.connector}), 200)
  const item = {rowKey: 'r1', payload: {Account_Name: 'Written'}}
  const template = (await makeTemplate(org.call, org.org)).id
  const {import: filling} = await ok(org.call('POST', of('imports'), {connectorId: org.connector, templateId: template}), 201)
  const asked = org.call('POST', of(`connectors/${org.connector}/records/Accounts`), {runId, items: [item]}, {prefer: 'respond-async'})
  const {write} = await ok(asked, 202)
  const {schedule} = await ok(org.call('POST', of(`templates/${template}/schedules`), nightly()), 201)
  const firing = `fir_of_${org.org.slice(-6)}`
  await house.hot.query(ENDED_FIRING, [firing, schedule.id, org.org])
  const {upload} = await openUpload(org.call, path, {bytes: Buffer.from('id')})
  const {webhook} = await ok(org.call('POST', of('webhooks'), {url: 'https://receiver.example/hook'}), 201)
  const {delivery} = await ok(org.call('POST', of(`webhooks/${webhook.id}/test`), {}), 202)
  return {
    webhooks: webhook.id,
    grants: await grantOf(house, org, user),
    deliveries: delivery.id,
    schedules: schedule.id,
    firings: firing,
    org: org.org,
    tokens: token.id,
    invitations: invitation.id,
    members: members[0].id,
    jobs: job.id,
    connector: org.connector,
    imports: importId!,
    sources: source.id,
    runs: run.id,
    connectors: org.connector,
    records: await recordOf(org),
    libraries: library,
    writes: write.id,
    templates: template,
    filling: filling.id,
    uploads: upload.id,
  }
}

/** Inserts a firing whose file was held and whose import no longer exists. */
const ENDED_FIRING = `insert into firings (id, schedule_id, org_id, due_at, by, state, outcome, contract, ended_at)
  values ($1, $2, $3, lading_now(), 'person', 'ended', 'drifted', '{"version": 1, "breaches": [], "total": 0, "files": []}', lading_now())`

/** Creates a grant of a person of the org to an MCP client, and returns its id. */
const grantOf = async (house: TestDeployment, {org, session}: Org, user: string): Promise<string> => {
  await letIn(house, {user})
  const {grants} = await ok(house.as(session)('GET', '/auth/grants'), 200)
  if (grants.length === 0) throw new Error(`No grant in ${org}`)
  return grants[0].id
}

export const nightly = (more: object = {}) => ({
  name: 'Nightly',
  cron: '0 0 29 2 *',
  timezone: 'UTC',
  source: {kind: 'https', url: 'https://files.example/a.csv'},
  ...more,
})

export const manifestOf = (namespace: string) => ({namespace, version: '1.0.0', scope: 'org', description: '', functions: [{name: 'one'}]})

/** Returns the id of a record that the run has just created, so it exists only in the CRM of this org. */
const recordOf = async ({call, org, connector}: Org): Promise<string> => {
  const query = 'field=Billing_City&value=Town+0'
  return (await ok(call('GET', `/orgs/${org}/connectors/${connector}/records/Accounts/search?${query}`), 200)).records[0].id
}

/** Path parameters that are not ids, but names and numbers that any org may have. */
const EVERYBODYS = ['org', 'module', 'apiName', 'version', 'offset', 'column']

/** Lists the id parameters of a path, each with its collection: the word before it. */
export const parametersOf = ({path}: Route) =>
  [...path.matchAll(/\/([\w.-]+)(?:\/:module)?\/:(\w+)/g)]
    .map(([, collection, name]) => ({collection: collection!, name: name!}))
    .filter(({name}) => !EVERYBODYS.includes(name))
