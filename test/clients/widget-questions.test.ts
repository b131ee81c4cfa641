import test from 'ava'
import {
  type Answers,
  answersOf,
  askersOf,
  chosenOf,
  isSame,
  type Question,
  sayRows,
  sayValue,
  withoutSaved,
} from '../../api/clients/widget/runs/answering.ts'
import {compareCandidates} from '../../api/clients/widget/runs/compare-candidates.ts'
import {openQuestionsOf} from '../../api/clients/widget/runs/run.ts'
import {run} from './widget-samples.ts'

const question = (more: Partial<Question> = {}): Question => ({
  key: 'k',
  kind: 'match',
  flowId: 'f',
  module: 'Accounts',
  field: null,
  found: 2,
  rows: 8,
  rowNumbers: [1, 2, 3, 4, 5, 6, 7, 8],
  answer: null,
  candidates: [
    {id: '1', Name: 'Twin', City: 'Bern', $display_name: 'Twin'},
    {id: '2', Name: 'Twin', City: 'Basel'},
  ],
  ...more,
})

test('a question prefers a draft to the saved answer, and is grouped with others of its kind', t => {
  const saved = question({answer: {choice: 'record', recordId: '2', at: ''}})
  t.deepEqual(chosenOf(saved, undefined), {recordId: '2'})
  t.deepEqual(chosenOf(saved, {choice: 'skip'}), {choice: 'skip'})
  t.is(chosenOf(question({answer: {choice: 'first', recordId: null, at: ''}}), undefined), null)
  t.true(isSame({recordId: '2'}, {recordId: '2'}))
  t.deepEqual(answersOf({k: {recordId: '1'}, m: {choice: 'create'}}), [
    {key: 'k', recordId: '1'},
    {key: 'm', choice: 'create'},
  ])
  t.is(sayRows(question()), 'rows 1, 2, 3, 4, 5, 6 and 2 more')
  t.is(sayRows({rows: 1, rowNumbers: [9]}), 'row 9')
  t.is(sayRows({rows: 2, rowNumbers: [3, 9]}), 'rows 3 and 9')
  t.is(sayValue({id: '7', name: 'Ana'}), 'Ana')
  t.is(sayValue(['a', null]), 'a; ')
  t.like(askersOf([question(), question({key: 'm', rows: 2}), question({kind: 'lookup'})])[0], {questions: 2, rows: 10})
})

test('answers that were chosen while others were saved stay unsaved', t => {
  const sent: Answers = {a: {recordId: '1'}, b: {choice: 'skip'}, c: {choice: 'create'}}
  const now: Answers = {a: {recordId: '1'}, b: {recordId: '2'}, d: {choice: 'skip'}}
  t.deepEqual(withoutSaved(now, sent), {b: {recordId: '2'}, d: {choice: 'skip'}})
  t.deepEqual(withoutSaved(sent, sent), {})
})

test('candidates are compared with one another and with the row, and fields with different values come first', t => {
  const types = {Name: 'text', City: 'text', Phone: 'phone', Staff: 'integer', Born: 'date', Empty: 'text', Owner: 'ownerlookup'}
  const fields = Object.entries(types).map(([apiName, type]) => ({apiName, label: `Label of ${apiName}`, type}))
  const candidates = [
    {
      id: '1',
      $display_name: 'Ana',
      $url: null,
      Name: 'Ana',
      City: 'Kiel',
      Phone: '1',
      Staff: 20,
      Born: '2000-03-01',
      Owner: {id: '9', name: 'Zoe'},
    },
    {id: '2', Name: 'Ana', City: 'Bonn', Phone: null, Staff: 20, Born: '2000-03-01', Owner: {id: '9', name: 'Zoe'}},
  ]
  const row = new Map([
    ['Name', ' ANA '],
    ['Phone', '1'],
    ['Staff', '20.0'],
    ['Born', '1 March 2000'],
  ])
  const compared = compareCandidates({...question(), fields, candidates}, row)
  t.deepEqual(
    compared.map(({label, own, values, isSame: same}) => [
      label,
      own,
      values.map(({text, differs}) => (differs ? `!${text}` : text)),
      same,
    ]),
    [
      ['Label of Phone', '1', ['1', '!'], false],
      ['Label of City', null, ['Kiel', 'Bonn'], false],
      ['Label of Name', ' ANA ', ['Ana', 'Ana'], true],
      ['Label of Staff', '20.0', ['20', '20'], true],
      ['Label of Born', '1 March 2000', ['2000-03-01', '2000-03-01'], true],
    ],
  )
})

test('a dry run and a retried run have no open questions', t => {
  t.is(openQuestionsOf(run({questions: 3, questionsAnswered: 1})), 2)
  t.is(openQuestionsOf(run({questions: 3, dryRun: true})), 0)
  t.is(openQuestionsOf(run({questions: 3, retriedBy: 'run_2'})), 0)
})
