import {createHash} from 'node:crypto'
import test from 'ava'
import {LANGUAGES} from '../../../shared/assistant/matcher/lexicon/entries.ts'
import {judge, readTables, readText, summarise} from '../../evaluation/evaluate.ts'

const [headers, labels] = [readTables('headers.json'), readTables('labels.json')]
const judged = {headers: judge(headers), labels: judge(labels)}

const percent = (share: number) => `${(share * 100).toFixed(2)} %`

test('the evaluation set is unchanged since before the matcher existed', t => {
  for (const line of readText('SHA256SUMS').trim().split('\n')) {
    const [sum = '', name = ''] = line.split(/\s+/)
    t.is(createHash('sha256').update(readText(name)).digest('hex'), sum, name)
  }
  const names = headers.flatMap(({columns}) => Object.keys(columns))
  t.true(new Set(names).size >= 500, `${new Set(names).size} different header names`)
})

test('at least 95 % of the columns of real files get the answer of a person', t => {
  const {top1} = summarise(judged.headers)
  t.log(`top-1 ${percent(top1)} of ${judged.headers.length} columns`)
  t.true(top1 >= 0.95)
})

test('at least 99 % of the proposals are right', t => {
  const [files, all] = [summarise(judged.headers), summarise([...judged.headers, ...judged.labels])]
  t.log(`files ${percent(files.precision)} of ${files.proposed}; with the labels ${percent(all.precision)} of ${all.proposed}`)
  t.true(all.precision >= 0.99)
  t.true(files.precision >= 0.99)
})

for (const language of LANGUAGES) {
  test(`at least 85 % of the labels in ${language} are mapped correctly`, t => {
    const {top1, recall, columns} = summarise(judged.labels.filter(({table}) => table.language === language))
    t.log(`${percent(top1)} of ${columns}; of those that have a field ${percent(recall)}`)
    t.true(top1 >= 0.85 && recall >= 0.85)
  })
}

test('a second set, written before its results were seen, reaches 95 % answers and 99 % right proposals', t => {
  const [sum = ''] = readText('HELD-OUT-SHA256SUM').split(/\s+/)
  t.is(createHash('sha256').update(readText('held-out.json')).digest('hex'), sum)
  const {top1, precision, columns} = summarise(judge(readTables('held-out.json')))
  t.log(`top-1 ${percent(top1)} of ${columns}, precision ${percent(precision)}`)
  t.true(top1 >= 0.95)
  t.true(precision >= 0.99)
})

test('the mean confidence equals the share of right proposals to five points', t => {
  const all = [...judged.headers, ...judged.labels].filter(({proposal}) => proposal.field !== null)
  const said = all.reduce((sum, {proposal}) => sum + proposal.confidence, 0) / all.length
  t.true(Math.abs(said - summarise(all).precision) < 0.05)
})
