import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Person = z.object({id: z.string(), email: z.string(), name: z.string(), banned: z.boolean()})

/** The person of this subject with the e-mail and name of today; `id` is used for a new one. */
export const keepPerson = (db: Db, {id, subject, email, name}: {id: string; subject: string; email: string; name: string}) =>
  db.one(sql.type(Person)`
    insert into people (id, subject, email, name) values (${id}, ${subject}, ${email}, ${name})
    on conflict (subject) do update set email = excluded.email, name = excluded.name
    returning id, email, name, banned_at is not null as banned`)
