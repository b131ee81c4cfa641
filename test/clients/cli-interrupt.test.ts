import test from 'ava'
import {openInterrupt} from '../../api/clients/cli/interrupt.ts'

test('Ctrl-C that npm also forwards counts as one, and a second Ctrl-C ends the command', t => {
  const quits: number[] = []
  let now = 0
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const before = signals.map(name => new Set(process.listeners(name)))
  const {take} = openInterrupt(
    code => quits.push(code),
    () => now,
  )
  const added = signals.map((name, at) => process.listeners(name).find(listener => !before[at]!.has(listener))!)
  t.teardown(() => signals.forEach((name, at) => void process.off(name, added[at]!)))
  const [press] = added
  const signal = take()
  press!('SIGINT')
  now = 300
  press!('SIGINT')
  t.true(signal.aborted)
  t.deepEqual(quits, [])
  now = 500
  press!('SIGINT')
  t.deepEqual(quits, [130])
})
