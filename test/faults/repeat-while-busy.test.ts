import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test from 'ava'
import {openCalls} from '../support/client.ts'
import {repeatWhileBusy} from './chaos-lane.ts'

test('the harness sends a request again while the API answers 503, a bounded number of times', async t => {
  const statuses: number[] = []
  let served = 0
  const server = createServer((_, response) => {
    served++
    response.writeHead(statuses.shift() ?? 503, {'retry-after': '0'}).end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const call = openCalls(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)(null)
  const send = async (...answers: number[]) => {
    served = 0
    statuses.splice(0, Infinity, ...answers)
    return [(await repeatWhileBusy(() => call('POST', '/'))).status, served]
  }
  t.deepEqual(await send(503, 503, 202), [202, 3])
  t.deepEqual(await send(409), [409, 1])
  t.deepEqual(await send(), [503, 10])
})
