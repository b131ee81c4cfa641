import test from 'ava'
import fc from 'fast-check'
import {digestOfText, openRepeats, type Repeat} from '../../shared/files/repeats.ts'

const identityOf = (number: number) => {
  const identity = Buffer.alloc(8)
  identity.writeUInt32LE(number, 0)
  return identity
}
type FindInInput = {group: number; text: string; identity: number}

const findIn = async (given: FindInInput[], expected: number, options = {}) => {
  const repeats = openRepeats(expected, options)
  try {
    for (const [at, {group, text, identity}] of given.entries()) {
      repeats.add({group, slot: group * 2, row: 2 ** 33 + at, digest: digestOfText(text), identity: identityOf(identity)})
      if (at % 500 === 0) await repeats.spill()
    }
    const found: Repeat[] = []
    for await (const repeat of repeats.find()) found.push(repeat)
    return {left: repeats.left(), found: found.sort((a, b) => a.row - b.row)}
  } finally {
    await repeats.close()
  }
}

/** Returns the expected result, found with a map that holds everything. */
const expectedOf = (given: FindInInput[]): Repeat[] => {
  const firsts = new Map<string, {row: number; slot: number; identity: number}>()
  return given.flatMap(({group, text, identity}, at) => {
    const one = {row: 2 ** 33 + at, slot: group * 2, identity}
    const first = firsts.get(`${group} ${text}`)
    if (!first) firsts.set(`${group} ${text}`, one)
    return first ? [{row: one.row, slot: one.slot, earlier: {row: first.row, slot: first.slot}, isSame: first.identity === identity}] : []
  })
}

test('repeated keys of a group are found, each with its first occurrence', async t => {
  const key = fc.record({group: fc.nat(2), text: fc.constantFrom('a', 'b', 'c', 'ü', ''), identity: fc.nat(2)})
  await fc.assert(
    fc.asyncProperty(fc.array(key, {maxLength: 60}), fc.nat(1_000_000), async (given, expected) => {
      const {found, left} = await findIn(given, expected)
      t.is(left, 0)
      t.deepEqual(found, expectedOf(given))
    }),
    {numRuns: 50},
  )
})

test('repeated keys are found when they spill to disk in several parts', async t => {
  const given = Array.from({length: 150_000}, (_, n) => ({group: n % 3, text: `key ${n % 10_007 === 0 ? 0 : n}`, identity: n % 5}))
  const {found} = await findIn(given, 1_500_000)
  t.true(found.length > 5)
  t.deepEqual(found, expectedOf(given))
})

test('one key repeated in all rows is found for each row, and at most `limit` keys are returned', async t => {
  const given = Array.from({length: 30_000}, () => ({group: 1, text: 'same', identity: 1}))
  t.is((await findIn(given, 30_000)).found.length, 29_999)
  const {left, found} = await findIn(given, 30_000, {limit: 1_000})
  t.deepEqual([left, found.length], [29_000, 999])
})
