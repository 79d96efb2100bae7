import type { Checker } from './checker.ts'

/** R6, R7: once everything has ended and nothing is under way, every page is home, those from quarantine too. */
export const pagesHome = (): Checker => ({
  name: 'pages_home',
  end: (living) => {
    for (const { life, counts } of living)
      if (counts.free !== counts.total)
        return `${counts.total - counts.free} of ${counts.total} ${life.role} pages never came home`
    return null
  },
})
