import {z} from 'zod'

/**
 * The same schema, which a JSON Schema shows as `shape`: for one that takes more than it lets through, since what it is piped into looks at the
 * whole by itself. What is made of it (`pipe`, `transform`, `optional`) is drawn by it.
 */
export const drawnAs = <S extends z.ZodType>(schema: S, shape: z.ZodType): S => {
  schema._zod.processJSONSchema = (context, _json, params) => {
    z.core.processSchema(shape, context, params)
    context.seen.get(schema)!.ref = shape
  }
  return schema
}

/** A value as somebody sends it who changes it: left out it stays, null takes it away. */
export const orTakenAway = <S extends z.ZodType>(value: S) => value.nullable().describe(`${value.description}. Null takes it away`)
