import test from 'ava'
import {valuesOf} from '../../../../workers/engine/dry-run/plan-values.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

const changesOf = (one: ReturnType<typeof field>, sent: unknown, read: unknown) =>
  valuesOf(compiledFlow([one]), row(1, {payload: {F: sent}}), {id: '1', F: read}).changes
const of = (type: string) => field('F', {type})

const long = 'All of it. '.repeat(50)
const stage = field('F', {type: 'picklist', picklist: [{display: 'Open now', actual: 'Open'}]})

const changed: [what: string, field: ReturnType<typeof field>, sent: string, read: string][] = [
  ['another end of a text that the CRM cuts', of('textarea'), long, long.slice(0, 500)],
  ['a text that ends where the CRM cuts', of('textarea'), long.slice(0, 500), long.slice(0, 500)],
  ['marks of HTML', of('textarea'), '<b>Hello</b>', 'Hello'],
  ['the case of an email address', of('email'), 'A@B.example', 'a@b.example'],
  ['the case of a web address', of('website'), 'Example.org', 'example.org'],
  ['the seconds of a time', of('time'), '10:00:30', '10:00:00'],
  ['another Unicode composition', of('text'), 'Jose\u0301', 'José'],
]
for (const [what, one, sent, read] of changed)
  test(`a plan shows a change of ${what}, because the update writes it`, t => t.deepEqual(changesOf(one, sent, read), [['F', read, sent]]))

const same: [what: string, field: ReturnType<typeof field>, sent: unknown, read: unknown][] = [
  ['a moment in another time zone', of('datetime'), '2026-01-02T10:00:00+02:00', '2026-01-02T08:00:00+00:00'],
  ['a time without seconds', of('time'), '08:30', '08:30:00'],
  ['an option under its other name', stage, 'Open', 'Open now'],
  ['a lookup with its name', of('lookup'), {id: '1'}, {id: '1', name: 'One'}],
  ['an unticked checkbox that the record lacks', of('boolean'), false, undefined],
  ['an empty value that the record lacks', of('text'), null, undefined],
]
for (const [what, one, sent, read] of same) test(`a plan shows no change of ${what}`, t => t.deepEqual(changesOf(one, sent, read), []))

test('a plan shows tags by name', t => {
  const read = [{name: 'VIP', id: '7', color_code: null}]
  t.deepEqual(changesOf(of('tag'), [{name: 'VIP'}, {name: 'New'}], read), [['F', 'VIP', 'VIP; New']])
  t.deepEqual(changesOf(of('tag'), [{name: 'VIP'}], read), [])
})
