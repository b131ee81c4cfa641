import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('a dry run is out of date after the file, the mapping or the match changed', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery']})
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
  const changes = {
    cleaning: () =>
      ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning: [{step: 'strikeRows', rows: [{from: 2, to: 2}]}]}), 200),
    reading: () => ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {shortRows: 'fill'}}), 200),
    match: () => putFlow({...accounts, match: {...accounts.match, onOne: 'skip'}}),
    mapping: () => putFlow({...accounts, fields: accounts.fields.slice(0, 2)}),
  }
  for (const [what, change] of Object.entries(changes)) {
    const {id, stale} = await tryRows(path)
    t.false(stale, `before: ${what}`)
    await change()
    t.true(await isStale(path, id), what)
  }
  t.false(await isStale(other.path, beside.id), 'another import')
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.is((await untilEnded(org.call, `${path}/runs/${run.id}`)).stale, null, 'a run that wrote is no plan')
})
