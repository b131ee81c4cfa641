import test from 'ava'
import fc from 'fast-check'
import {matchKeyOf, normalise} from '../../../../shared/mapping/flows/match-key.ts'

const same: [string, unknown, unknown][] = [
  ['text', 'Acme', ' acme '],
  ['text', 'Acme  Inc', 'ACME Inc'],
  ['text', 'Caf\u00e9', 'Cafe\u0301'],
  ['email', 'A@Example.org', 'a@example.org'],
  ['picklist', 'New', 'new'],
  ['website', 'HTTP://A.example', 'http://a.example'],
  ['integer', 7, '7'],
  ['integer', '007', 7],
  ['bigint', '+12345678901234567890', '12345678901234567890'],
  ['double', 1.5, '1.50'],
  ['currency', '1000', 1000],
  ['phone', '+49 (30) 12-34', '+49301234'],
  ['phone', '030 1234', '0301234'],
  ['lookup', {id: '50001', name: 'Acme'}, {id: '50001'}],
]

test('notations of one value have one key', t => {
  for (const [type, one, other] of same) {
    t.is(normalise(one, {type}), normalise(other, {type}), `${type} ${one} ${other}`)
    t.deepEqual(matchKeyOf([one], [{apiName: 'F', type}]), matchKeyOf([other], [{apiName: 'F', type}]))
  }
})

const different: [string, unknown, unknown][] = [
  ['text', 'Acme', 'Acme Inc'],
  ['text', 'Acme Inc', 'AcmeInc'],
  ['text', '7', '07'],
  ['integer', 7, 8],
  ['bigint', '12345678901234567890', '12345678901234567891'],
  ['phone', '+49301234', '49301234'],
  ['date', '2026-01-01', '2026-01-02'],
]

test('different values have different keys', t => {
  for (const [type, one, other] of different)
    t.notDeepEqual(matchKeyOf([one], [{apiName: 'F', type}]), matchKeyOf([other], [{apiName: 'F', type}]))
})

test('one moment has one key, regardless of its offset', t => {
  const key = (text: string) => matchKeyOf([text], [{apiName: 'F', type: 'datetime'}])
  t.deepEqual(key('2026-01-01T10:00:00+00:00'), key('2026-01-01T12:00:00+02:00'))
  t.notDeepEqual(key('2026-01-01T10:00:00+00:00'), key('2026-01-01T10:00:00+02:00'))
})

test('an empty part gives no key', t => {
  const fields = [
    {apiName: 'A', type: 'text'},
    {apiName: 'B', type: 'text'},
  ]
  for (const empty of [null, undefined, '', '  ']) t.is(matchKeyOf(['a', empty], fields), null)
  t.is(matchKeyOf(['-'], [{apiName: 'A', type: 'phone'}]), null)
})

test('the same value in two fields has two keys, so flows that match by different fields never collide', t => {
  const of = (apiName: string) => matchKeyOf(['1001'], [{apiName, type: 'text'}])
  t.notDeepEqual(of('Account_Number'), of('Account_Name'))
})

test('the order of the fields does not change the key', t => {
  const [a, b] = [
    {apiName: 'A', type: 'text'},
    {apiName: 'B', type: 'text'},
  ]
  t.deepEqual(matchKeyOf(['1', '2'], [a, b]), matchKeyOf(['2', '1'], [b, a]))
  t.notDeepEqual(matchKeyOf(['1', '2'], [a, b]), matchKeyOf(['2', '1'], [a, b]))
})

test('a key has sixteen bytes and keeps its parts separate', t => {
  const fields = [
    {apiName: 'A', type: 'text'},
    {apiName: 'B', type: 'text'},
  ]
  t.is(matchKeyOf(['a', 'b'], fields)!.length, 16)
  t.notDeepEqual(matchKeyOf(['a b', 'c'], fields), matchKeyOf(['a', 'b c'], fields))
  fc.assert(
    fc.property(fc.tuple(fc.string(), fc.string()), fc.tuple(fc.string(), fc.string()), (one, other) => {
      const [keyOfOne, keyOfOther] = [matchKeyOf(one, fields), matchKeyOf(other, fields)]
      const isSame = one.every((part, at) => normalise(part, fields[at]!) === normalise(other[at], fields[at]!))
      if (keyOfOne && keyOfOther && keyOfOne.equals(keyOfOther) !== isSame) throw new Error('keys and values disagree')
    }),
  )
})

test('normalising a value twice changes nothing', t => {
  const types = fc.constantFrom('text', 'email', 'phone', 'integer', 'double', 'date', 'lookup')
  fc.assert(
    fc.property(types, fc.oneof(fc.string({unit: 'grapheme'}), fc.integer().map(String)), (type, text) => {
      const once = normalise(text, {type})
      t.is(once === null ? null : normalise(once, {type}), once)
    }),
  )
})
