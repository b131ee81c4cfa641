import test from 'ava'
import {matchKeyOf} from '../../../../shared/mapping/flows/match-key.ts'
import {openMatchIndex} from '../../../../workers/engine/match-snapshot/match-index.ts'
import type {FlowField} from '../../../../workers/engine/model.ts'

const fieldOf = (apiName: string, type = 'text') => ({apiName, type, length: 255}) as FlowField
const [key, name, amount] = [fieldOf('Key'), fieldOf('Name'), fieldOf('Amount', 'double')]
const keyOf = (value: unknown) => matchKeyOf([value], [key])!

test('a record holds exactly its own values, and no field that is not compared', async t => {
  const index = openMatchIndex([key], [name, amount])
  t.teardown(index.close)
  index.fill([{id: '1', Key: 'a', Name: 'Ana', Amount: 1.5}])
  await index.finish()
  const [record] = index.find(keyOf('a'))
  t.true(index.holds(record!, {Name: 'Ana', Amount: '1.50'}))
  t.true(index.holds(record!, {Amount: 1.5}))
  t.false(index.holds(record!, {Name: 'Ana', Amount: 1.6}))
  t.false(index.holds(record!, {Name: 'Ana', Other: 'x'}))
  index.put([{id: '1', Key: 'a', Name: 'Bea', Amount: null}])
  t.true(index.holds(index.find(keyOf('a'))[0]!, {Name: 'Bea', Amount: null}))
  index.remove(['1'])
  t.deepEqual(index.find(keyOf('a')), [])
})

test('a record does not hold a value that only resembles its own', async t => {
  const index = openMatchIndex([key], [name])
  t.teardown(index.close)
  const texts = Array.from({length: 20_000}, (_, n) => `Value ${n}`)
  index.fill(texts.map((text, n) => ({id: `${n}`, Key: text, Name: text})))
  await index.finish()
  for (const [n, text] of texts.entries()) {
    const [record] = index.find(keyOf(text))
    const others = [texts[(n + 1) % texts.length]!, `${text}0`, ` ${text}x`, text.toUpperCase(), `${n} Value`, text.slice(0, -1)]
    if (!index.holds(record!, {Name: text}) || others.some(other => other !== text && index.holds(record!, {Name: other}))) t.fail(text)
  }
  t.pass()
})
