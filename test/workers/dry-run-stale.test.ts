import test from 'ava'
import {checkImport} from '../support/import-checks.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

/** Changes that are tried against a check too, and whether they make the check out of date. */
const checked = new Map([
  ['date format', true],
  ['edited values of the module', false],
  ['idempotency field', true],
  ['answer', false],
])

test('a dry run is out of date after the file, the mapping, a setting that it uses or an answer changed', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery', 'checks']})
  here.crm.addField('example', 'Accounts', {name: 'Import_Key', type: 'text', length: 26, unique: true})
  const org = await openOrg(here)
  const {path, source} = await prepareImport(org, {csv: accountRows(5, 'St-'), flow: accounts})
  const other = await prepareImport(org, {csv: accountRows(2, 'Su-'), flow: accounts})
  const tryRows = async (at: string) => {
    const {run} = await ok(org.call('POST', `${at}/runs`, {dryRun: true}), 202)
    t.is(run.stale, null, 'a dry run under way is not judged')
    return untilEnded(org.call, `${at}/runs/${run.id}`)
  }
  const isStale = async (at: string, run: string) => {
    const [{run: read}, {runs}] = [await ok(org.call('GET', `${at}/runs/${run}`), 200), await ok(org.call('GET', `${at}/runs`), 200)]
    t.is(runs.find(({id}: {id: string}) => id === run).stale, read.stale)
    return read.stale as boolean | null
  }
  const beside = await tryRows(other.path)
  const putFlow = (flow: object) => ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}]), 200)
  const patchSettings = (settings: object) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, settings), 200)
  const patchModule = (module: object) => ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Accounts`, module), 200)
  await patchSettings({aiSamplePolicy: 'deny'})
  t.false(await isStale(other.path, beside.id), 'a setting that no dry run uses, as the first setting of the org')
  let lastRun = ''
  const changes = {
    cleaning: () =>
      ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning: [{step: 'strikeRows', rows: [{from: 2, to: 2}]}]}), 200),
    reading: () => ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {shortRows: 'fill'}}), 200),
    match: () => putFlow({...accounts, match: {...accounts.match, onOne: 'skip'}}),
    mapping: () => putFlow({...accounts, fields: accounts.fields.slice(0, 2)}),
    'date format': () => patchSettings({dateFormat: 'dd.MM.yyyy'}),
    'time zone': () => patchSettings({timezone: 'Europe/Zurich'}),
    'edited values of the org': () => patchSettings({onEdited: 'keep'}),
    'edited values of the module': () => patchModule({onEdited: 'ask'}),
    'idempotency field': () => patchModule({idempotencyField: 'Import_Key'}),
    answer: () =>
      ok(
        org.call('POST', `${path}/runs/${lastRun}/questions`, {
          rules: [{flowId: 'f', kind: 'edit', field: 'Account_Name', choice: 'keep'}],
        }),
        200,
      ),
    'disabled module': () => patchModule({enabled: false}),
  }
  for (const [what, change] of Object.entries(changes)) {
    const {id, stale} = await tryRows(path)
    t.false(stale, `before: ${what}`)
    lastRun = id
    if (checked.has(what)) await checkImport(org, path)
    await change()
    t.true(await isStale(path, id), what)
    if (what === 'mapping') t.false(await isStale(other.path, beside.id), 'another import')
    if (checked.has(what)) t.is((await ok(org.call('GET', `${path}/checks`), 200)).checks.stale, checked.get(what)!, `check: ${what}`)
  }
  await patchModule({enabled: true})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.is((await untilEnded(org.call, `${path}/runs/${run.id}`)).stale, null, 'a run that wrote is no plan')
})
