import {execSync} from 'node:child_process'
import pg from 'pg'
import {createDatabase} from './test/database.ts'
const url = process.env.DATABASE_URL!
const port = new URL(url).port
const pm = Number(/pid=(\d+)/.exec(execSync(`ss -ltnp | grep ":${port} "`).toString())![1])
const fs = await import('node:fs')
const stat = (pid: number) => { try { return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ') } catch { return null } }
const cpu = () => {
  const p = stat(pm)!
  let t = Number(p[11]) + Number(p[12]) + Number(p[13]) + Number(p[14])
  for (const c of execSync(`pgrep -P ${pm}`).toString().trim().split('\n')) { const s = stat(Number(c)); if (s) t += Number(s[11]) + Number(s[12]) }
  return t * 10
}
const mine = () => { const {user, system} = process.cpuUsage(); return (user + system) / 1000 }
const measure = async (label: string, n: number, act: (i: number) => Promise<unknown>) => {
  const [a, m] = [cpu(), mine()]
  for (let i = 0; i < n; i++) await act(i)
  await new Promise(r => setTimeout(r, 300))
  console.log(label, 'pg ms each', ((cpu() - a) / n).toFixed(1), 'node ms each', ((mine() - m) / n).toFixed(1))
}
const first = await createDatabase('first'); await first.drop()
const admin = new pg.Client(url); await admin.connect()
const {rows: [{datname: template, size}]} = await admin.query(`select datname, pg_database_size(datname) / 1024 as size from pg_database where datname like 'lading_template%'`)
console.log(template, size, 'KiB')

const per = () => Object.fromEntries(execSync(`pgrep -P ${pm}`).toString().trim().split('\n').map(c => { const st = stat(Number(c)); let name=''; try { name = fs.readFileSync(`/proc/${c}/cmdline`,'utf8').split('\0')[0]! } catch {} ; return [c + ' ' + name, st ? Number(st[11])*10 + ' user ' + Number(st[12])*10 + ' sys' : null] }))
const step = async (label: string, text: string) => { const before = cpu(); const t = performance.now(); await admin.query(text); console.log(label, cpu() - before, 'cpu ms', Math.round(performance.now() - t), 'wall') }


for (let round = 0; round < 2; round++) {
  for (const strategy of ['wal_log', 'file_copy'])
    await measure('create+drop ' + strategy, 8, async i => { await admin.query(`create database c_${strategy}_${i} template ${template} strategy ${strategy}`); await admin.query(`drop database c_${strategy}_${i} with (force)`) })
}
await measure('createDatabase+drop', 8, async i => (await createDatabase('x' + i)).drop())
await admin.end()
