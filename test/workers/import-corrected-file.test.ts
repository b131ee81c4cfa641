import test from 'ava'
import {findRepeatingFlows} from '../../api/clients/widget/runs/new-run.ts'
import {leads, ok, openOrg, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(here)
})

/** Returns a file of ten leads. The rows in `wrong` have a number of employees that cannot be read. */
const fileOf = (wrong: number[], staff = 10) =>
  `name,company,mail,staff\n${Array.from({length: 10}, (_, n) => `Person ${n},Company ${n},p${n}@corrected.example,${wrong.includes(n) ? 'many' : staff}`).join('\n')}\n`

const held = () => here.crm.records('example', 'Leads').filter(({Email}) => String(Email).endsWith('@corrected.example'))
const idsOf = () =>
  held()
    .map(({id, Email}) => [Email, id])
    .toSorted()

/** Uploads a file, lets the flow read it instead of the earlier one, and deletes the earlier one. Returns the new source's id. */
const replaceFile = async (path: string, before: string, csv: string, flow: object) => {
  const {source} = await ok(org.call('POST', `${path}/sources?name=corrected.csv`, csv, {'content-type': 'text/csv'}), 201)
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}]), 200)
  await ok(org.call('DELETE', `${path}/sources/${before}`), 200)
  return source.id as string
}

test.serial('correcting the file, replacing it, retrying and following the advice writes no record twice', async t => {
  const {path, source, run: first} = await runImport(org, {csv: fileOf([4, 7]), flow: leads})
  t.like(first.counts.Leads, {created: 8, failed: 2})
  const written = idsOf()
  t.is(written.length, 8)

  const corrected = await replaceFile(path, source.id, fileOf([]), leads)
  const refused = await ok(org.call('POST', `${path}/runs`, {retryOf: first.id}), 409)
  t.is(refused.code, 'SNAPSHOT_CHANGED')
  t.notRegex(refused.error, /new run/, 'no match is set, so a new run would create eight records again')
  const {import: unmatched} = await ok(org.call('GET', path), 200)
  const {fields} = await ok(org.call('GET', `/orgs/${org.org}/config/fields/Leads?connector=${org.connector}`), 200)
  const [advice] = findRepeatingFlows(unmatched, new Map([['Leads', fields]]))
  t.is(advice?.matchBy?.apiName, 'Email')

  const match = {by: [advice!.matchBy!.apiName], onOne: 'update', onMany: 'ask'}
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: corrected, ...leads, match}]), 200)
  const {import: matched} = await ok(org.call('GET', path), 200)
  t.deepEqual(findRepeatingFlows(matched), [], 'now a new run is offered')
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const second = await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.like(second.counts.Leads, {created: 2, failed: 0})
  t.is(held().length, 10, 'the two corrected rows are new, and no other')
  t.deepEqual(
    idsOf().filter(([, id]) => written.some(([, known]) => known === id)),
    written,
  )

  await replaceFile(path, corrected, fileOf([], 20), {...leads, match})
  t.is((await ok(org.call('POST', `${path}/runs`, {retryOf: second.id}), 409)).code, 'SNAPSHOT_CHANGED')
  t.deepEqual(findRepeatingFlows((await ok(org.call('GET', path), 200)).import), [])
  const {run: third} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.like((await untilEnded(org.call, `${path}/runs/${third.id}`)).counts.Leads, {created: 0, updated: 10})
  t.is(held().length, 10)
})

test.serial('a retry whose flow names another module is refused, because it would write every row again', async t => {
  const {path, source, run: first} = await runImport(org, {csv: fileOf([2]), flow: leads})
  t.like(first.counts.Leads, {created: 9, failed: 1})
  const setFlow = (flow: object) => ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}]), 200)
  await setFlow({module: 'Contacts', fields: leads.fields.slice(0, 1)})
  const refused = await ok(org.call('POST', `${path}/runs`, {retryOf: first.id}), 409)
  t.like(refused, {code: 'SNAPSHOT_CHANGED', flow: 'f'})
  t.regex(refused.error, /^Flow f wrote Leads .* match existing records/)
  await setFlow({...leads, fields: leads.fields.slice(0, 3)})
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf: first.id}), 202)
  t.like((await untilEnded(org.call, `${path}/runs/${run.id}`)).counts.Leads, {inherited: 9, created: 1})
})
