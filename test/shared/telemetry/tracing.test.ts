import {execFile} from 'node:child_process'
import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import {promisify} from 'node:util'
import test from 'ava'
import {openLog} from '../../../shared/telemetry/log.ts'
import {openTracing, traced, traceparent} from '../../../shared/telemetry/tracing.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../../support/importing.ts'
import {startTestDeployment} from '../../support/test-deployment.ts'

type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: {key: string; value: Record<string, unknown>}[]
  status: {code: number}
}

/** Starts a collector over OTLP/HTTP that keeps what is posted to `/v1/traces`. */
const startCollector = async () => {
  const spans: Span[] = []
  const posts: string[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const text = Buffer.concat(parts).toString()
    posts.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
    const body = JSON.parse(text) as {resourceSpans: {scopeSpans: {spans: Span[]}[]}[]}
    for (const {scopeSpans} of body.resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans)
    response.writeHead(200, {'content-type': 'application/json'}).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    server.closeAllConnections()
    server.close()
  }
  return {url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, posts, stop}
}

const settingsOf = (url: string) => ({OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'lading', OTEL_TRACES_SAMPLER_ARG: 1})
const tools = {log: openLog('test', 'silent'), part: 'test'}

test.serial('an import is one trace, from the request over its job and batches to each CRM call', async t => {
  const collector = await startCollector()
  t.teardown(collector.stop)
  const house = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  const org = await openOrg(house)
  const {path} = await prepareImport(org, {csv: accountRows(120), flow: accounts})
  const tracing = await openTracing(settingsOf(collector.url), tools)
  const asked = '0af7651916cd43dd8448eb211c80319c'
  const headers = {traceparent: `00-${asked}-b7ad6b7169203331-01`, 'x-request-id': 'asked-by-the-test'}
  const {run} = await ok(org.call('POST', `${path}/runs`, {}, headers), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  await tracing.close()

  t.true(collector.posts.length > 0)
  for (const post of collector.posts) t.is(post, 'POST /v1/traces application/json')
  const spans = collector.spans.filter(({traceId}) => traceId === asked)
  const named = (name: string) => spans.filter(span => span.name === name)
  const toldOf = (span: Span, key: string) => Object.values(span.attributes.find(one => one.key === key)?.value ?? {})[0]
  const [request] = named('POST /orgs/:org/imports/:id/runs')
  t.is(request?.parentSpanId, 'b7ad6b7169203331', 'the caller’s own step is the first')
  t.is(toldOf(request!, 'lading.caller_request'), 'asked-by-the-test')
  t.regex(String(toldOf(request!, 'lading.request')), /^req_/)
  t.is(toldOf(request!, 'http.response.status_code'), 202)
  const [enqueue] = named('enqueue import.run')
  t.is(enqueue?.parentSpanId, request?.spanId)
  const [job] = named('job import.run')
  t.is(job?.parentSpanId, enqueue?.spanId)
  t.true(Number(toldOf(job!, 'lading.waited_ms')) >= 0)
  const batches = named('batch create')
  t.is(batches.length, 2)
  for (const {parentSpanId} of batches) t.is(parentSpanId, job?.spanId)
  const creates = named('crm create')
  t.deepEqual(creates.map(span => span.parentSpanId).sort(), batches.map(({spanId}) => spanId).sort())
  for (const span of creates) t.is(toldOf(span, 'crm.outcome'), 'ok')
  t.true(named('crm query').length > 0)
  for (const {parentSpanId} of named('crm query')) t.is(parentSpanId, job?.spanId)

  const said = JSON.stringify(collector.spans)
  for (const word of ['Accounts', 'Company', 'Town', org.org, org.connector, '@', 'select ', run.id]) t.false(said.includes(word), word)
})

test.serial('a failed span has the name of its error, and not the message', async t => {
  const collector = await startCollector()
  t.teardown(collector.stop)
  const tracing = await openTracing(settingsOf(collector.url), tools)
  await t.throwsAsync(() => traced('outer', {}, () => traced('inner', {}, async () => Promise.reject(new TypeError('Ana Example')))))
  t.throws(() =>
    traced('at once', {parent: '00-zz-1-01'}, () => {
      throw new RangeError('no')
    }),
  )
  await tracing.close()
  const [inner, outer, atOnce] = ['inner', 'outer', 'at once'].map(name => collector.spans.find(span => span.name === name))
  t.is(inner?.parentSpanId, outer?.spanId)
  for (const span of [inner, outer, atOnce]) t.is(span?.status.code, 2)
  t.is(atOnce?.parentSpanId ?? '', '', 'a parent nobody can read is none')
  t.false(JSON.stringify(collector.spans).includes('Ana'))
})

test.serial('a caller cannot force sampling of requests, and later steps follow the decision', async t => {
  const collector = await startCollector()
  t.teardown(collector.stop)
  const asked = (flags: string) => ({parent: `00-${'0'.repeat(31)}1-b7ad6b7169203331-${flags}`})
  const ask = (flags: string) => traced('GET', {kind: 'server', ...asked(flags)}, () => traceparent()!.slice(-2))
  const none = await openTracing({...settingsOf(collector.url), OTEL_TRACES_SAMPLER_ARG: 0}, tools)
  t.is(ask('01'), '00')
  t.is(
    traced('job', {kind: 'consumer', ...asked('01')}, () => traceparent()!.slice(-2)),
    '01',
  )
  await none.close()
  const all = await openTracing(settingsOf(collector.url), tools)
  t.deepEqual([ask('01'), ask('00')], ['01', '00'])
  await all.close()
  t.deepEqual(
    collector.spans.map(({name}) => name),
    ['job', 'GET'],
  )
})

test.serial('an unreachable collector affects no operation', async t => {
  const collector = await startCollector()
  await collector.stop()
  const tracing = await openTracing(settingsOf(collector.url), tools)
  t.is(await traced('a step', {}, async () => 'done'), 'done')
  await t.notThrowsAsync(tracing.close())
})

test.serial('without an endpoint the SDK is not loaded, and no trace context is passed on', async t => {
  await openTracing({...settingsOf(''), OTEL_EXPORTER_OTLP_ENDPOINT: undefined}, tools)
  t.is(
    traced('a step', {}, () => traceparent()),
    undefined,
  )
  const load = `
    import {registerHooks} from 'node:module'
    const loaded = []
    registerHooks({load: (url, context, next) => (loaded.push(url), next(url, context))})
    await import(${JSON.stringify(new URL('../../../workers/start.ts', import.meta.url).href)})
    await import(${JSON.stringify(new URL('../../../api/open-deps.ts', import.meta.url).href)})
    const {openTracing} = await import(${JSON.stringify(new URL('../../../shared/telemetry/tracing.ts', import.meta.url).href)})
    await openTracing({OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER_ARG: 1}, {log: console, part: 'x'})
    console.log(JSON.stringify(loaded.filter(url => url.includes('@opentelemetry/') && !url.includes('@opentelemetry/api/'))))
    console.log(loaded.length)
  `
  const {stdout} = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', load])
  const [sdk, all] = stdout.trim().split('\n')
  t.is(sdk, '[]')
  t.true(Number(all) > 100, 'the hook saw what was loaded')
})
