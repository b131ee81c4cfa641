import {readFileSync} from 'node:fs'
import test from 'ava'
import {createAnswerCheck} from './payment/answers-check.ts'
import {readForm} from './payment/form.ts'
import {readParams} from './payment/params.ts'
import {requestSchema} from './payment/schemas/files.ts'
import {generateSchemas} from './payment/schemas/generate.ts'

test('the schemas are what the pinned SDK’s types say', t => {
  for (const [name, text] of generateSchemas()) {
    t.true(
      readFileSync(new URL(`./payment/schemas/${name}`, import.meta.url), 'utf8') === text,
      `${name}: run payment/schemas/generate.ts again`,
    )
  }
})

test('a form is read as its schema means it', t => {
  const read = (form: string) => readParams(requestSchema('SubscriptionUpdate'), readForm(form))
  t.deepEqual(
    read('items[0][id]=si_1&items[0][quantity]=2&cancel_at=&cancel_at_period_end=false&metadata[a]=1&expand[]=customer&expand[]=schedule'),
    {
      items: [{id: 'si_1', quantity: 2}],
      cancel_at: '',
      cancel_at_period_end: false,
      metadata: {a: '1'},
      expand: ['customer', 'schedule'],
    },
  )
  t.deepEqual(read('trial_end=now&metadata='), {trial_end: 'now', metadata: ''})
  t.deepEqual(read('trial_end=17&items[0][id]=a&items[1][id]=b').trial_end, 17)
})

test('an answer that is not as the types say is caught', t => {
  const check = createAnswerCheck()
  t.throws(() => check({object: 'customer', id: 'cus_1'}), {message: /Customer/})
  t.throws(() => check({object: 'unicorn'}), {message: /nothing known/})
})
