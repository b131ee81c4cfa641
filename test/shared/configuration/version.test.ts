import test from 'ava'
import {hasTag, logVersion, logVersions, readIfMatch, tagOf} from '../../../shared/configuration/version.ts'

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
for (const [header, condition] of conditions) test(`If-Match ${header ?? 'left out'} is parsed`, t => t.is(readIfMatch(header), condition))

const junk = [
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
]
for (const header of junk)
  test(`If-Match ${JSON.stringify(header)} is refused`, t => void t.throws(() => readIfMatch(header), {code: 'BAD_IF_MATCH'} as object))

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
  test(`If-None-Match ${JSON.stringify(header) ?? 'left out'} is compared with version 7`, t => t.is(hasTag(header, tagOf(7)), has))

test('one transaction returns the version it made or was given; without a condition it returns none', t => {
  t.deepEqual(logVersion(7, 8), {version: 8, tag: true})
  t.deepEqual(logVersion(7, null), {version: 7, tag: true})
  t.is(logVersion(null, 8), null)
  t.is(logVersion(null, null), null)
})

test('several transactions return their last version, or none or no tag if another write came between or after', t => {
  t.deepEqual(logVersions(7, {made: [8, 9, 10], now: 10}), {version: 10, tag: true})
  t.deepEqual(logVersions(7, {made: [8, 9], now: 10}), {version: 9, tag: false})
  t.is(logVersions(7, {made: [8, 10], now: 10}), null)
  t.is(logVersions(7, {made: [9], now: 9}), null)
  t.deepEqual(logVersions(7, {made: [], now: 7}), {version: 7, tag: true})
  t.deepEqual(logVersions(7, {made: [], now: 8}), {version: 7, tag: false})
  t.is(logVersions(null, {made: [8], now: 8}), null)
})
