import {z} from 'zod'

/**
 * Sets the JSON Schema of a zod schema to that of `shape`. Use it if the first stage of the schema accepts more than later stages. Schemas
 * derived from `schema` (`pipe`, `transform`, `optional`) have the same JSON Schema.
 */
export const withJsonSchema = <S extends z.ZodType>(schema: S, shape: z.ZodType): S => {
  schema._zod.processJSONSchema = (context, _json, params) => {
    z.core.processSchema(shape, context, params)
    context.seen.get(schema)!.ref = shape
  }
  return schema
}

/** Returns the schema of a value in a patch: a value that is left out stays, and null removes it. */
export const clearable = <S extends z.ZodType>(value: S) => value.nullable().describe(`${value.description}. Null removes it`)
