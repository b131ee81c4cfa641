import test from 'ava'
import {openTaskQueue} from '../../../../shared/files/parser/task-queue.ts'

const open = (running: number, runningPerOrg: number) => {
  const queue = openTaskQueue({running, runningPerOrg})
  const started: string[] = []
  const add = (org: string, name: string) => {
    const task = {org, start: () => void started.push(`${org} ${name}`)}
    queue.add(task)
    return task
  }
  return {...queue, add, started}
}

test('the running tasks of an org are limited, and other orgs use the rest', t => {
  const {add, startNext, release, started} = open(2, 1)
  for (const name of ['1', '2', '3']) add('a', name)
  add('b', '1')
  startNext()
  t.deepEqual(started, ['a 1', 'b 1'])
  release('b')
  startNext()
  t.deepEqual(started, ['a 1', 'b 1'])
  release('a')
  startNext()
  t.deepEqual(started, ['a 1', 'b 1', 'a 2'])
})

test('the org served longest ago is next, however many tasks another org has', t => {
  const {add, startNext, release, started} = open(1, 1)
  for (const name of ['1', '2', '3']) add('a', name)
  startNext()
  for (const org of ['b', 'c']) add(org, '1')
  for (const org of ['a', 'b', 'c', 'a']) {
    release(org)
    startNext()
  }
  t.deepEqual(started, ['a 1', 'b 1', 'c 1', 'a 2', 'a 3'])
})

test('a removed task is not started', t => {
  const {add, startNext, remove, count, started} = open(1, 1)
  const given = add('a', '1')
  add('a', '2')
  t.deepEqual([count(), count('a'), count('b')], [2, 2, 0])
  t.true(remove(given))
  t.false(remove(given))
  startNext()
  t.deepEqual(started, ['a 2'])
})
