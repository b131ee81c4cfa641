import test from 'ava'
import {Refusal} from '../../../../shared/errors.ts'
import {openResultCache} from '../../../../shared/runs/results/result-cache.ts'
import {until} from '../../../support/until.ts'
import {collect} from '../../files/chunks.ts'

/** Opens a file of one piece that is made once it is released. `made`: how often making started. */
const openMaking = (text = 'a,b\r\n') => {
  const gate = Promise.withResolvers<void>()
  const making = {
    made: 0,
    letGo: gate.resolve,
    fail: gate.reject,
    async *make() {
      making.made++
      await gate.promise
      yield Buffer.from(text)
    },
  }
  return making
}

const readOf = async (taking: Promise<{bytes: number; body: AsyncIterable<Uint8Array>}>) => {
  const {bytes, body} = await taking
  const text = String(await collect(body))
  return {bytes, text}
}

test('a file with a key is made once for all concurrent and later requests', async t => {
  const shelf = openResultCache()
  const file = openMaking()
  const asked = [1, 2, 3].map(() => readOf(shelf.take('k', file.make)))
  file.letGo()
  for (const read of [...(await Promise.all(asked)), await readOf(shelf.take('k', file.make))])
    t.deepEqual(read, {bytes: 5, text: 'a,b\r\n'})
  t.is(file.made, 1)
})

test('a file without a key is made for each request', async t => {
  const shelf = openResultCache()
  const file = openMaking()
  file.letGo()
  for (let time = 0; time < 2; time++) t.is((await readOf(shelf.take(null, file.make))).text, 'a,b\r\n')
  t.is(file.made, 2)
})

test('a file over the limit of concurrent makings is refused with a retry time; joining one is allowed', async t => {
  const shelf = openResultCache({mostAtOnce: 2})
  const [one, other, third] = [openMaking(), openMaking(), openMaking()]
  const first = shelf.take('one', one.make)
  const second = shelf.take(null, other.make)
  const error = await t.throwsAsync(shelf.take('third', third.make), {instanceOf: Refusal})
  t.like(error, {code: 'BUSY', status: 503, extra: {retryAfterMs: 5_000}})
  t.is(third.made, 0)
  const joined = shelf.take('one', one.make)
  for (const file of [one, other, third]) file.letGo()
  await Promise.all([first, second, joined].map(readOf))
  t.is((await readOf(shelf.take('third', third.make))).text, 'a,b\r\n')
})

test('a failed file is not cached and frees its place', async t => {
  const shelf = openResultCache({mostAtOnce: 1})
  for (let time = 0; time < 2; time++) {
    const file = openMaking()
    const taking = shelf.take('k', file.make)
    file.fail(new Error('unreadable'))
    await t.throwsAsync(taking, {message: 'unreadable'})
  }
  const file = openMaking('again')
  file.letGo()
  t.is((await readOf(shelf.take('k', file.make))).text, 'again')
})

test('the oldest cached file is dropped when there are too many', async t => {
  const shelf = openResultCache({mostKept: 2})
  const file = openMaking()
  file.letGo()
  for (const key of ['a', 'b', 'c', 'c', 'b']) await readOf(shelf.take(key, file.make))
  t.is(file.made, 3)
  await readOf(shelf.take('a', file.make))
  t.is(file.made, 4)
})

test('a cached file expires after its time, and a current reader can finish', async t => {
  const shelf = openResultCache({keepMs: 1})
  const file = openMaking('x'.repeat(300_000))
  file.letGo()
  const {body} = await shelf.take('k', file.make)
  await until(
    async () => {
      await readOf(shelf.take('k', file.make))
      return file.made
    },
    made => made > 1,
  )
  t.is(String(await collect(body)).length, 300_000)
})
