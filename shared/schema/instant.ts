import {z} from 'zod'

/** An ISO 8601 time with a time zone, converted to UTC. Limited to years that Postgres and ISO 8601 write alike. */
export const Instant = z.iso
  .datetime({offset: true})
  .refine(text => Date.parse(text) >= 0 && Date.parse(text) < Date.UTC(9999, 0), 'Enter a time between the years 1970 and 9998')
  .transform(text => new Date(text).toISOString())
