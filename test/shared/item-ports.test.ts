import {setFlagsFromString} from 'node:v8'
import {runInNewContext} from 'node:vm'
import {MessageChannel} from 'node:worker_threads'
import test from 'ava'
import {receiveItems, sendItems} from '../../shared/files/parser/item-ports.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function* listItems(count: number): AsyncGenerator<{at: number}, string> {
  for (let at = 0; at < count; at++) yield {at}
  return 'all'
}

test('items arrive in order, followed by the return value of their generator', async t => {
  const {port1, port2} = new MessageChannel()
  const sending = sendItems(port1, listItems(3))
  const received = receiveItems<{at: number}, string>(port2)
  for (const at of [0, 1, 2]) t.deepEqual(await received.next(), {done: false, value: {at}})
  t.deepEqual(await received.next(), {done: true, value: 'all'})
  await sending
})

test('a received item can be garbage-collected before the last one arrives', async t => {
  const {port1, port2} = new MessageChannel()
  const sending = sendItems(port1, listItems(200))
  const seen: WeakRef<object>[] = []
  for await (const item of receiveItems<object>(port2)) {
    seen.push(new WeakRef(item))
    if (seen.length === 200) collectGarbage()
  }
  await sending
  t.true(seen.filter(ref => ref.deref()).length < 20)
})

test('the receiver gets an error if the sending side ends, while waiting and before asking', async t => {
  const {port1, port2} = new MessageChannel()
  const waiting = receiveItems(port2).next()
  port1.close()
  await t.throwsAsync(waiting, {message: 'The sending thread ended'})
})
