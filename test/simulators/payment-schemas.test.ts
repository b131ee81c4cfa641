import {readFileSync} from 'node:fs'
import {Ajv} from 'ajv'
import test from 'ava'
import {generateSchemas, type Schema} from './payment/schemas/generate.ts'
import {checkAnswer, misfitOf, objectSchema, requestSchema, schemaNames} from './payment/schemas.ts'
import {readForm, readParams} from './payment/wire.ts'

test('the schemas equal those generated from the types of the pinned SDK', t => {
  for (const [name, text] of generateSchemas()) {
    t.true(
      readFileSync(new URL(`./payment/schemas/${name}`, import.meta.url), 'utf8') === text,
      `${name}: run payment/schemas/generate.ts again`,
    )
  }
})

test('a form is parsed by its schema', t => {
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

test('an answer that violates the types is detected', t => {
  t.throws(() => checkAnswer({object: 'customer', id: 'cus_1'}), {message: /Customer/})
  t.throws(() => checkAnswer({object: 'unicorn'}), {message: /nothing known/})
})

const objectNames = Object.values(schemaNames).toSorted()

test('our validation agrees with a JSON Schema validator', t => {
  const ajv = new Ajv({strict: false, validateSchema: false, code: {optimize: false}})
  for (const name of objectNames) ajv.addSchema(objectSchema(name))
  const random = openDice(7)
  const said = {right: 0, wrong: 0}
  for (const name of objectNames) {
    const validate = ajv.getSchema(name)!
    for (let n = 0; n < 400; n++) {
      const value = draw(objectSchema(name), random, n % 2 ? 0.004 : 0)
      const misfit = misfitOf(objectSchema(name), value)
      t.is(misfit === null, validate(value) as boolean, `${name}: ${misfit} ${JSON.stringify(value)}`)
      said[misfit === null ? 'right' : 'wrong']++
    }
  }
  t.true(Math.min(said.right, said.wrong) > 1000, JSON.stringify(said))
})

type Dice = () => number
const openDice = (seed: number): Dice => {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}
const oneOf = <T>(all: readonly T[], random: Dice): T => all[Math.floor(random() * all.length)]!

/** Generates a value by its schema. `astray`: the probability of a wrong part. Below the maximum depth, references become null. */
const draw = (schema: Schema, random: Dice, astray: number, depth = 0): unknown => {
  if (random() < astray) return oneOf([null, 1, 'x', true, [], {}, {x: 1}, ['x']], random)
  const {$ref, type, enum: values, anyOf, items = {}, properties = {}, required = [], additionalProperties: others} = schema
  const deeper = (one: Schema) => draw(one, random, astray, depth + 1)
  if ($ref) return depth > 12 ? null : deeper(objectSchema($ref))
  if (anyOf) return deeper((depth > 2 && anyOf.find((one: Schema) => one.type === 'null')) || oneOf(anyOf, random))
  if (values) return oneOf(values, random)
  if (type === 'array') return random() < 0.5 ? [] : [deeper(items)]
  if (type !== 'object') return {null: null, string: 'text', number: 7, boolean: false}[type as 'null']
  const keys = Object.keys(properties).filter(key => (required.includes(key) ? random() >= astray : random() < 0.3))
  const more = random() < astray || typeof others === 'object' ? {more: typeof others === 'object' ? deeper(others) : 1} : {}
  return {...Object.fromEntries(keys.map(key => [key, deeper(properties[key])])), ...more}
}
