import test from 'ava'
import {Refusal} from '../../../shared/errors.ts'
import {openShelf} from '../../../shared/imports/shelf.ts'
import {until} from '../../until.ts'
import {collect} from './chunks.ts'

/** A file of one piece, made when it is let go; `made` counts how often it was begun. */
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

test('a file with a key is made once for all who ask, while it is being made and afterwards', async t => {
  const shelf = openShelf()
  const file = openMaking()
  const asked = [1, 2, 3].map(() => readOf(shelf.take('k', file.make)))
  file.letGo()
  for (const read of [...(await Promise.all(asked)), await readOf(shelf.take('k', file.make))])
    t.deepEqual(read, {bytes: 5, text: 'a,b\r\n'})
  t.is(file.made, 1)
})

test('a file without one is made for each', async t => {
  const shelf = openShelf()
  const file = openMaking()
  file.letGo()
  for (let time = 0; time < 2; time++) t.is((await readOf(shelf.take(null, file.make))).text, 'a,b\r\n')
  t.is(file.made, 2)
})

test('at most so many are made at once; one more is told when to ask again, and one that is being made may be joined', async t => {
  const shelf = openShelf({mostAtOnce: 2})
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

test('what fails is not kept, and gives its place back', async t => {
  const shelf = openShelf({mostAtOnce: 1})
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

test('the oldest goes when there are too many', async t => {
  const shelf = openShelf({mostKept: 2})
  const file = openMaking()
  file.letGo()
  for (const key of ['a', 'b', 'c', 'c', 'b']) await readOf(shelf.take(key, file.make))
  t.is(file.made, 3)
  await readOf(shelf.take('a', file.make))
  t.is(file.made, 4)
})

test('it is kept for a time and no longer; who reads it then reads to the end', async t => {
  const shelf = openShelf({keepMs: 1})
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
