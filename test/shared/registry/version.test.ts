import test from 'ava'
import {hasTag, readIfMatch, tagOf, tellVersion, tellVersions} from '../../../shared/registry/version.ts'

const conditions: [string | undefined, number | null][] = [
  ...([
    [undefined, null],
    ['*', null],
    ['7', 7],
    ['"7"', 7],
    ['0', 0],
    ['"0"', 0],
    ['007', 7],
  ] as [string | undefined, number | null][]),
]
for (const [header, condition] of conditions) test(`If-Match ${header ?? 'left out'}`, t => t.is(readIfMatch(header), condition))

const junk = [
  ...[
    'W/"7"',
    'w/"7"',
    '"7',
    '7"',
    '""',
    '',
    '"*"',
    '"7", "8"',
    '7, 8',
    '-7',
    '+7',
    '7.0',
    '1e3',
    '0x7',
    '"abc"',
    "'7'",
    '"7" ',
    '٧',
    'null',
  ],
]
for (const header of junk)
  test(`If-Match refused: ${JSON.stringify(header)}`, t => void t.throws(() => readIfMatch(header), {code: 'BAD_IF_MATCH'} as object))

const nones: [string | undefined, boolean][] = [
  ...([
    [undefined, false],
    ['"7"', true],
    ['W/"7"', true],
    ['*', true],
    [' * ', true],
    ['"6"', false],
  ] as [string | undefined, boolean][]),
  ...([
    ['"6", "7"', true],
    ['"6",W/"7"', true],
    ['7', false],
    ['"77"', false],
    ['', false],
    ['"a,7"', false],
  ] as [string, boolean][]),
]
for (const [header, has] of nones)
  test(`If-None-Match ${JSON.stringify(header) ?? 'left out'} at 7`, t => t.is(hasTag(header, tagOf(7)), has))

test('one transaction tells the version it made, or the one sent; without a condition it tells none', t => {
  t.deepEqual(tellVersion(7, 8), {version: 8, tag: true})
  t.deepEqual(tellVersion(7, null), {version: 7, tag: true})
  t.is(tellVersion(null, 8), null)
  t.is(tellVersion(null, null), null)
})

test('several tell the last of theirs, none where another came between, and no tag where one came after', t => {
  t.deepEqual(tellVersions(7, {made: [8, 9, 10], now: 10}), {version: 10, tag: true})
  t.deepEqual(tellVersions(7, {made: [8, 9], now: 10}), {version: 9, tag: false})
  t.is(tellVersions(7, {made: [8, 10], now: 10}), null)
  t.is(tellVersions(7, {made: [9], now: 9}), null)
  t.deepEqual(tellVersions(7, {made: [], now: 7}), {version: 7, tag: true})
  t.deepEqual(tellVersions(7, {made: [], now: 8}), {version: 7, tag: false})
  t.is(tellVersions(null, {made: [8], now: 8}), null)
})
