import test from 'ava'
import {Refusal} from '../../../../shared/errors.ts'
import {Cleaning} from '../../../../shared/files/cleaning/cleaning.ts'
import {replacing} from '../../../../shared/files/cleaning/pattern.ts'

type Step = {find: string; with: string}

const one = async (cell: string, {find, with: replacement}: Step & object) =>
  replacing({find, with: replacement, regex: true, ignoreCase: false}, row => new Refusal('UNREADABLE', 'too long', {row}))(cell, 1)

test('the time of a pattern is bounded for any cell', async t => {
  const cell = `${'a'.repeat(5_000)}!`
  const began = performance.now()
  for (const find of ['^(a+)+$', '(a|a)+$', '(a*)*b', '(.*)(.*)(.*)=']) t.is(await one(cell, {find, with: 'x'}), cell)
  t.true(performance.now() - began < 30_000)
  const error = await t.throwsAsync(one('a'.repeat(65_537), {find: 'a', with: ''}), {instanceOf: Refusal})
  t.is(error?.code, 'UNREADABLE')
  // A longer pattern may search only shorter cells, because the product of both lengths bounds the search.
  const long = (length: number) => one('ab'.repeat(length / 2), {find: '[ab]{0,900}[cd]', with: ''})
  t.is((await long(1_000))!.length, 1_000)
  t.like(await t.throwsAsync(long(10_000), {instanceOf: Refusal}), {code: 'UNREADABLE', extra: {row: 1}})
})

test('a pattern that scans to the end of the cell at each match is given up', async t => {
  const find = '.*z|.'
  t.is(await one('abz', {find, with: 'x'}), 'x')
  const error = await t.throwsAsync(one('a'.repeat(65_536), {find, with: 'x'}), {instanceOf: Refusal})
  t.is(error?.code, 'UNREADABLE')
})

test('the length of a pattern counts written-out repetitions, not its syntax characters', t => {
  const takes = (find: string) => Cleaning.safeParse([{step: 'replace', find, with: '', regex: true}]).success
  for (const find of [
    'a{1000}',
    'a{999,}',
    '(?:a|b){500}',
    '(?i:x{10}){100}',
    String.raw`\{5000}[{900}(]{9}a{2,}`,
    'x{0}y{0,3}',
    '((a{10}){10}){10}',
  ])
    t.true(takes(find), find)
  for (const find of ['a{1000}b', '(?:ab){501}', '((a{10}){10}){10}b', '(?P<n>a{9}b){101}']) t.false(takes(find), find)
})
