import {once} from 'node:events'
import {createInterface} from 'node:readline'
import test from 'ava'
import {readSamples, sumOf} from '../support/metrics.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {startWorker} from '../support/worker-spawn.ts'

const METRICS_TOKEN = 'the-one-who-scrapes-the-test-world-and-nothing-else'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

/** Returns the line with this message in a worker's log. Throws if the worker ends without it. */
const lineOf = async (worker: ReturnType<typeof startWorker>, msg: string) => {
  for await (const line of createInterface({input: worker.stdout!})) {
    const said = JSON.parse(line)
    if (said.msg === msg) return said
  }
  throw new Error(`The worker ended without ${msg}`)
}

test('a worker process serves metrics on the port named in its log, to bearers of the metrics token', async t => {
  const environment = {METRICS_PORT: '0', METRICS_TOKEN, LOG_LEVEL: 'info'}
  const worker = startWorker(house.config, environment, ['credits', 'entitlements'])
  t.teardown(() => worker.kill('SIGKILL'))
  const {url} = await lineOf(worker, 'metrics')
  t.regex(url, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
  worker.stdout!.resume()
  const ask = (bearer: string | null, {method = 'GET', at = url} = {}) =>
    fetch(at, {method, headers: bearer === null ? {} : {authorization: `Bearer ${bearer}`}})
  t.is((await ask(null)).status, 403)
  t.is((await ask(`${METRICS_TOKEN}x`)).status, 403)
  t.is((await ask(METRICS_TOKEN, {method: 'POST'})).status, 405)
  t.is((await ask(METRICS_TOKEN, {at: url.replace('/metrics', '/health')})).status, 404)
  const scrape = async () => readSamples(await (await ask(METRICS_TOKEN)).text())
  const samples = await until(scrape, seen => sumOf(seen, 'lading_rounds_total', {rounds: 'entitlements'}) > 0)
  t.is(sumOf(samples, 'lading_worker', {worker: 'credits'}), 1)
  t.is(sumOf(samples, 'lading_deployment_read'), 1)
  t.true(samples.some(({name}) => name === 'nodejs_eventloop_lag_p99_seconds'))
  worker.kill('SIGTERM')
  t.deepEqual(await once(worker, 'exit'), [0, null])
})
