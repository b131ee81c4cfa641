import {Readable} from 'node:stream'
import test from 'ava'
import {Refusal} from '../../../shared/errors.ts'
import {addSource} from '../../../shared/files/sources/add.ts'
import {removeSource} from '../../../shared/files/sources/remove.ts'
import {StorageFailed} from '../../../shared/storage/failed.ts'
import {removeDeleted} from '../../../workers/retention.ts'
import {discard} from '../../../workers/schedules/make-import.ts'
import {accountRows, accounts, ok, openOrg, prepareImport} from '../../support/importing.ts'
import {keysOf} from '../../support/retention.ts'
import {startTestDeployment} from '../../support/test-deployment.ts'

test('a storage that cannot remove files changes no answer, and the files are removed later', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  const org = await openOrg(here)
  const fail = () => Promise.reject(new StorageFailed('offline'))
  const deps = {...here.tools, storage: {...here.storage, remove: fail, removeAll: fail}}
  const [removed, discarded] = [
    await prepareImport(org, {csv: accountRows(2), flow: accounts}),
    await prepareImport(org, {csv: accountRows(2), flow: accounts}),
  ]
  const placeOf = (path: string) => ({org: org.org, importId: path.split('/').at(-1)!})
  await removeSource(deps, {...placeOf(removed.path), sourceId: removed.source.id})
  t.deepEqual((await ok(org.call('GET', removed.path), 200)).import.sources, [])

  const refuse = () => Promise.reject(new Refusal('IMPORT_RUNNING', 'A run holds the import'))
  const file = {name: 'b.csv', label: 'b', body: Readable.from([Buffer.from(accountRows(2))]), onSource: refuse}
  const adding = addSource(deps, {...placeOf(removed.path), ...file})
  t.like(await t.throwsAsync(adding), {code: 'IMPORT_RUNNING'})

  await discard(deps, placeOf(discarded.path))
  t.is((await org.call('GET', discarded.path)).status, 404)
  t.is((await keysOf(here)).length, 3)
  await removeDeleted({...here.tools, drain: new AbortController().signal})
  t.is((await keysOf(here)).length, 1, 'the refused file is left to the listing of the storage')
})
