import fs from 'node:fs'

const folder = '/dev/shm'
const gibibyte = 1024 ** 3

/**
 * Returns a directory in memory, or null. The tests' temporary databases and their log need one or two GiB; a container often has 64 MB. So
 * the directory must have 4 GiB free, and the machine 8 GiB.
 */
export const roomInMemory = (): string | null => {
  try {
    const {bavail, bsize} = fs.statfsSync(folder)
    return bavail * bsize > 4 * gibibyte && process.availableMemory() > 8 * gibibyte ? folder : null
  } catch {
    return null
  }
}
