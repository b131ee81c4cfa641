import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {startS3} from '../simulators/s3.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, runImport, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const account = {bucket: 'lading', accessKeyId: 'AKIALADING', secretAccessKey: 'secret', region: 'us-east-1'}

test('files and run records are stored in a configured S3 bucket and read from it', async t => {
  const s3 = await startS3(account)
  t.teardown(s3.stop)
  const environment = {
    S3_BUCKET: account.bucket,
    S3_ENDPOINT: s3.url,
    S3_ACCESS_KEY_ID: account.accessKeyId,
    S3_SECRET_ACCESS_KEY: account.secretAccessKey,
    LEASE_SECONDS: '1',
  }
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery', 'archive'], environment})
  const org = await openOrg(here)
  const {run, path} = await runImport(org, {csv: accountRows(150), flow: accounts})
  const standing = () => here.db.oneFirst(sql.type(z.object({archived: z.boolean()}))`select archived from runs where id = ${run.id}`)
  await until(standing, Boolean)
  t.deepEqual(
    [...s3.objects.keys()]
      .map(key =>
        key
          .replace(org.org, 'org')
          .replace(/imp_\w+|src_\w+|run_\w+/g, 'id')
          .replace(/-\w{8}(-\w{4}){3}-\w{12}/, ''),
      )
      .toSorted(),
    ['org/id/id', 'org/runs/id/0-1.ndjson.gz', 'org/runs/id/1-1.ndjson.gz'],
  )
  await assertAccounted(here, {org, path, run, rows: 150})
  t.is((await readLog(org.call, `${path}/runs/${run.id}`, 40)).length, 150)
  s3.faults.push({method: 'HEAD', times: 100, action: {status: 503}}, {method: 'GET', times: 100, action: {status: 503}})
  const answer = await org.call('GET', `${path}/runs/${run.id}/records`)
  t.deepEqual([answer.status, answer.body.code, answer.headers.get('retry-after')], [503, 'RECORDS_MOVING', '60'])

  // A run whose file cannot be read does not count as one that kills workers. The run pauses and resumes automatically.
  s3.faults.length = 0
  const later = await prepareImport(org, {csv: accountRows(20, 'L-'), flow: accounts})
  s3.faults.push({method: 'HEAD', times: 100, action: {status: 503}}, {method: 'GET', times: 100, action: {status: 503}})
  const begun = (await ok(org.call('POST', `${later.path}/runs`, {}), 202)).run
  const paused = await untilRun(org.call, `${later.path}/runs/${begun.id}`, ({state}) => state === 'paused')
  t.is(paused.pause.code, 'UNAVAILABLE')
  s3.faults.length = 0
  await here.ahead('40 seconds')
  t.like(await untilEnded(org.call, `${later.path}/runs/${begun.id}`), {stop: null, rowsWritten: 20})
})
