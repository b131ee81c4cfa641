import {z} from 'zod'

/** An ISO 8601 time with a time zone, converted to UTC. The years 1970 to 9998 are accepted, which Postgres and ISO 8601 write alike. */
export const Instant = z.iso
  .datetime({offset: true})
  .refine(text => Date.parse(text) >= 0 && Date.parse(text) < Date.UTC(9999, 0), 'Enter a time between the years 1970 and 9998')
  .transform(text => new Date(text).toISOString())
