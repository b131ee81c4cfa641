import test from 'ava'
import {draftOf, type ShownSource, toSourceRequest} from '../../api/clients/widget/templates/source-draft.ts'

const bucket = {region: 'eu-central-1', bucket: 'leads', key: 'leads.csv', accessKeyId: 'AKIA'}

test('a save keeps the path style of a bucket, unless the endpoint changes', t => {
  const endpoint = 'https://oss.example.com'
  const stored: ShownSource = {kind: 's3', ...bucket, endpoint, pathStyle: false, credentials: ['secretAccessKey']}
  const draft = draftOf(stored)
  t.deepEqual(toSourceRequest(draft, stored), {kind: 's3', ...bucket, endpoint, pathStyle: false})
  t.deepEqual(toSourceRequest({...draft, endpoint: ''}, stored), {kind: 's3', ...bucket})
})
