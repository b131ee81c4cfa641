import test from 'ava'
import {z} from 'zod'
import {limitOf} from '../../../api/paging.ts'
import {listOf} from '../../../shared/configuration/annotation.ts'
import {RegistryDocument} from '../../../shared/configuration/document.ts'
import {withJsonSchema} from '../../../shared/schema/json-schema.ts'

const draw = (schema: z.ZodType) => z.toJSONSchema(schema, {io: 'input'})

test('a list has a JSON schema with its items in every form, and its length is checked first', t => {
  const list = listOf(z.string().max(3), {most: 2, least: 1})
  const drawn = {type: 'array', items: {type: 'string', maxLength: 3}, minItems: 1, maxItems: 2}
  t.like(draw(list), drawn)
  t.like(draw(list.describe('Names')), {...drawn, description: 'Names'})
  t.like(draw(list.superRefine(() => {})), drawn)
  const {properties, required} = draw(z.strictObject({one: list, other: list.optional()}))
  t.like(properties, {one: drawn, other: drawn})
  t.deepEqual(required, ['one'])
  t.deepEqual(
    list.safeParse([1, 2, 3]).error?.issues.map(({code}) => code),
    ['too_big'],
  )
})

test('a custom check has the JSON schema of its input, and accepts the same values', t => {
  t.like(draw(RegistryDocument), {type: 'object', required: ['settings', 'writing', 'modules', 'fields'], additionalProperties: false})
  t.like(draw(limitOf({usual: 50, most: 200})), {type: 'integer', minimum: 1, maximum: 200, default: 50})
  t.deepEqual(
    ['7', '900', 'x', undefined].map(given => limitOf({usual: 50, most: 200}).parse(given)),
    [7, 200, 50, 50],
  )
  t.deepEqual(withJsonSchema(z.unknown(), z.int()).parse('anything'), 'anything')
})
