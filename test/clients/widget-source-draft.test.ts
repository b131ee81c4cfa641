import test from 'ava'
import {draftOf, type ShownSource, toSourceRequest} from '../../api/clients/widget/templates/source-draft.ts'
import {describeSource, mergeCredentials} from '../../shared/schedules/fetch/sealed.ts'
import {FileSource, SourceChange} from '../../shared/schedules/fetch/source.ts'

const bucket = {region: 'eu-central-1', bucket: 'leads', key: 'leads.csv', accessKeyId: 'AKIA'}

test('a save keeps the path style of a bucket, unless the endpoint changes', t => {
  const endpoint = 'https://oss.example.com'
  const stored: ShownSource = {kind: 's3', ...bucket, endpoint, pathStyle: false, credentials: ['secretAccessKey']}
  const draft = draftOf(stored)
  t.deepEqual(toSourceRequest(draft, stored), {kind: 's3', ...bucket, endpoint, pathStyle: false})
  t.deepEqual(toSourceRequest({...draft, endpoint: ''}, stored), {kind: 's3', ...bucket})
})

test('a new URL removes the stored query and headers, which the form does not show, but a new date in it does not', t => {
  const credentials = ['query', 'headers', 'bearer']
  const url = 'https://files.example.com/{date:yyyy-MM-dd}.csv'
  const stored: ShownSource = {kind: 'https', url, credentials}
  const save = (typed: string) => toSourceRequest({...draftOf(stored), url: typed}, stored)
  t.deepEqual(save(url), {kind: 'https', url})
  t.deepEqual(toSourceRequest({...draftOf(stored), removed: ['query']}, stored), {kind: 'https', url, query: null}, 'on request')
  t.deepEqual(save(url.replace('yyyy-MM-dd', 'yyyyMMdd')), {kind: 'https', url: url.replace('yyyy-MM-dd', 'yyyyMMdd')})
  const changed = 'https://files.example.com/leads.csv'
  t.deepEqual(save(changed), {kind: 'https', url: changed, query: null, headers: null})
  t.deepEqual(save('HTTPS://Files.example.com/{date:yyyy-MM-dd}.csv'), {
    kind: 'https',
    url: 'HTTPS://Files.example.com/{date:yyyy-MM-dd}.csv',
  })
  t.deepEqual(save(`${url}?signature=x`), {kind: 'https', url: `${url}?signature=x`, query: null}, 'the headers are for the same path')
  t.deepEqual(SourceChange.parse(save(`${changed}?signature=x`)), {kind: 'https', url: changed, query: 'signature=x', headers: null})
})

test('the form removes the stored query and headers when the URL changes, so that the API accepts the new URL', t => {
  const url = 'https://files.example.com/{date:yyyy-MM-dd}.csv'
  const saved = FileSource.parse({kind: 'https', url, query: 'signature=x', headers: {'x-tenant': 'a'}})
  const stored = describeSource(saved)
  for (const typed of [
    url,
    'https://files.example.com/{date-1d:yyyyMMdd}.csv',
    'HTTPS://Files.example.com:443/{date:yyyy-MM-dd}.csv',
    'https://files.example.com/{date:yyyy-MM-dd}.csv?signature=y',
    'https://files.example.com/a/../{date:yyyy-MM-dd}.csv',
    'https://files.example.com/{date:yyyy}/leads.csv',
    'https://files.example.com:8443/{date:yyyy-MM-dd}.csv',
  ]) {
    const change = toSourceRequest({...draftOf(stored), url: typed}, stored)
    t.notThrows(() => mergeCredentials(saved, SourceChange.parse(change)), typed)
  }
})
