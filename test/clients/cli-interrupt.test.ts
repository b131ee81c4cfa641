import test from 'ava'
import {openInterrupt} from '../../api/clients/cli/interrupt.ts'

test('Ctrl-C that npm also forwards counts as one, and a second Ctrl-C ends the command', t => {
  const quits: number[] = []
  let now = 0
  const before = new Set(process.listeners('SIGINT'))
  const {take} = openInterrupt(
    code => quits.push(code),
    () => now,
  )
  const [press] = process.listeners('SIGINT').filter(listener => !before.has(listener))
  t.teardown(() => process.off('SIGINT', press!))
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
