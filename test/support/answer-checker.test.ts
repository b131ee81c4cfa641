import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test from 'ava'
import {z} from 'zod'
import {createApp} from '../../api/app.ts'
import {reply} from '../../api/reply.ts'
import {type Route, route} from '../../api/route.ts'
import {Refusal} from '../../shared/errors.ts'
import {openAnswerChecker} from './answer-checker.ts'
import {openCalls} from './client.ts'
import {startTestDeployment} from './test-deployment.ts'

const answers = {200: z.strictObject({rows: z.int()}), 204: {type: null, what: 'Nothing'}, 409: {type: 'text/html', what: 'A page'}}
const at = (path: `/${string}`, handle: Route['handle']) =>
  route({
    method: 'get',
    path,
    access: {public: true},
    operationId: 'answerSomething',
    tag: 'Service',
    summary: 'Answer something',
    answers,
    refusals: ['NOT_FOUND', 'NOT_READY'],
    handle,
  })

const refuse = (code: 'NOT_FOUND' | 'RUN_NOT_FOUND' | 'NOT_READY') => () => {
  throw new Refusal(code, 'No')
}

const right = [
  at('/right', () => ({rows: 1})),
  at('/right/nothing', () => reply({status: 204})),
  at('/right/refusal', refuse('NOT_FOUND')),
  at('/right/both', refuse('NOT_READY')),
  at('/right/page', () => reply({status: 409, headers: {'content-type': 'text/html; charset=utf-8'}, body: '<p>No'})),
]
const wrong = [
  at('/wrong/key', () => ({rows: 1, more: true})),
  at('/wrong/value', () => ({rows: 'one'})),
  at('/wrong/status', () => reply({status: 201, json: {rows: 1}})),
  at('/wrong/type', () => reply({headers: {'content-type': 'text/csv'}, body: 'rows\n1\n'})),
  at('/wrong/refusal', refuse('RUN_NOT_FOUND')),
  at('/wrong/envelope', () => reply({status: 404, json: {message: 'No'}})),
]

test('the checker reports exactly the answers that violate their declaration', async t => {
  const house = await startTestDeployment(t)
  const routes = [...right, ...wrong]
  const checker = openAnswerChecker(routes)
  const server = createServer(createApp(house.tools, {routes, observer: checker.look}).callback())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const ask = openCalls(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)(null)
  for (const {path} of right) await ask('GET', path)
  await ask('HEAD', '/right')
  await ask('GET', '/unknown')
  await ask('GET', '/right?%00')
  t.deepEqual(checker.wrong(), [])
  for (const {path} of wrong) await ask('GET', path)
  t.deepEqual(
    checker.wrong().map(line => line.split(':')[0]),
    wrong.map(({path}, n) => `GET ${path} ${[200, 200, 201, 200, 404, 404][n]}`),
  )
})
